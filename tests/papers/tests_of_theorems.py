"""Which tests test which theorem; a test checks that this is complete and true."""

__all__ = ["TESTS"]

TESTS: dict[str, tuple[str, ...]] = {
    "labarriere2024.theorem1": (
        "tests/verify/test_verify.py",
        "tests/theory/theorems/test_one_sample.py",
        "tests/theory/test_predict.py",
    ),
    "labarriere2024.theorem2": ("tests/verify/test_verify.py",),
    "limitpoint.boundary": (
        "tests/theory/theorems/test_sign_boundary.py",
        "tests/theory/test_predict.py",
        "tests/theory/test_scale_path.py",
    ),
    "limitpoint.diagonalisable": (
        "tests/verify/test_verify_tensor.py",
        "tests/theory/theorems/test_yun_limits.py",
    ),
    "limitpoint.sign_constrained": (
        "tests/theory/theorems/test_sign_boundary.py",
        "tests/theory/solvers/test_general_limit.py",
        "tests/theory/test_predict.py",
    ),
    "limitpoint.sign_constrained_at_zero": (
        "tests/theory/solvers/test_general_limit.py",
        "tests/theory/theorems/test_zhao2026.py",
    ),
    "limitpoint.lazy": (
        "tests/theory/theorems/test_lazy.py",
        "tests/theory/test_scale_path.py",
    ),
    "limitpoint.null_space_law": ("tests/theory/theorems/test_null_space_law.py",),
    "limitpoint.one_sample": ("tests/theory/theorems/test_one_sample.py",),
    "limitpoint.separable": ("tests/theory/solvers/test_families.py",),
    "limitpoint.rank_one": ("tests/theory/theorems/test_rank_one_any_start.py",),
    "limitpoint.rank_one_at_zero": ("tests/theory/theorems/test_rank_one_any_start.py",),
    "limitpoint.weight_decay": ("tests/theory/theorems/test_weight_decay.py",),
    "limitpoint.step_law": ("tests/dynamics/training/test_start_of_flow.py",),
    "lyu2023.corollary1.1": ("tests/theory/theorems/test_lyu2023.py",),
    "lyu2023.lemma3": ("tests/dynamics/training/test_sgd_model.py",),
    "lyu2023.proposition1": ("tests/networks/test_fully_connected.py",),
    "lyu2023.proposition2": ("tests/theory/theorems/test_stable_manifold.py",),
    "lyu2023.theorem1": (
        "tests/theory/theorems/test_lyu2023.py",
        "tests/theory/theorems/test_rank_one_any_start.py",
    ),
    "lyu2023.theorem2": ("tests/theory/theorems/test_lyu2023.py",),
    "lyu2023.theorem3": ("tests/dynamics/training/test_sgd_model.py",),
    "varre2023.lemmaC.6": (
        "tests/verify/test_verify_two_layer.py",
        "tests/theory/theorems/test_varre2023.py",
    ),
    "varre2023.lemmaC.8": (
        "tests/verify/test_verify_two_layer.py",
        "tests/theory/theorems/test_varre2023.py",
    ),
    "varre2023.proposition4.1": ("tests/papers/test_noise_process.py",),
    "varre2023.theorem3.1": (
        "tests/verify/test_verify_two_layer.py",
        "tests/theory/two_layer/test_spectral_potential.py",
        "tests/theory/theorems/test_varre2023.py",
    ),
    "varre2023.theorem3.1_at_zero": ("tests/theory/theorems/test_varre2023.py",),
    "varre2023.theorem3.2a": ("tests/theory/two_layer/test_spectral_potential.py",),
    "varre2023.theorem3.2b": ("tests/theory/two_layer/test_spectral_potential.py",),
    "varre2023.theoremC.12": ("tests/theory/two_layer/test_riccati.py",),
    "yun2021.corollary1": (
        "tests/verify/test_directions_of_classification.py",
        "tests/theory/theorems/test_yun_directions.py",
    ),
    "yun2021.corollary2": (
        "tests/verify/test_directions_of_classification.py",
        "tests/theory/theorems/test_yun_directions.py",
    ),
    "yun2021.corollary2_deep": ("tests/theory/theorems/test_yun_directions.py",),
    "yun2021.corollary3": (
        "tests/verify/test_directions_of_classification.py",
        "tests/theory/theorems/test_yun_directions.py",
    ),
    "yun2021.corollary3_deep": ("tests/theory/theorems/test_yun_directions.py",),
    "yun2021.corollary4": ("tests/theory/theorems/test_one_sample.py",),
    "yun2021.corollary5": (
        "tests/theory/test_scale_path.py",
        "tests/theory/theorems/test_yun_limits.py",
    ),
    "yun2021.corollary6": (
        "tests/verify/test_verify_tensor.py",
        "tests/theory/theorems/test_yun_limits.py",
    ),
    "yun2021.corollary7": (
        "tests/verify/test_verify_tensor.py",
        "tests/theory/theorems/test_yun_limits.py",
    ),
    "yun2021.theorem1": ("tests/theory/theorems/test_yun_directions.py",),
    "yun2021.theorem2": ("tests/theory/theorems/test_yun_directions.py",),
    "yun2021.theorem2_deep": ("tests/theory/theorems/test_yun_directions.py",),
    "yun2021.theorem3": ("tests/theory/theorems/test_one_sample.py",),
    "yun2021.theorem5": (
        "tests/verify/test_verify_tensor.py",
        "tests/theory/theorems/test_yun_limits.py",
    ),
    "yun2021.theorem6": (
        "tests/verify/test_verify_tensor.py",
        "tests/theory/theorems/test_one_sample.py",
    ),
    "yun2021.theorem7": ("tests/theory/theorems/test_dense_vanishing.py",),
    "zhao2026.corollary4.6": (
        "tests/theory/theorems/test_zhao2026.py",
        "tests/theory/test_scale_path.py",
    ),
}

"""Which tests test which theorem; a test checks that this is complete and true."""

__all__ = ["TESTS"]

TESTS: dict[str, tuple[str, ...]] = {
    "labarriere2024.theorem1": (
        "tests/test_verify.py",
        "tests/theory/test_one_sample.py",
        "tests/theory/test_predict.py",
    ),
    "labarriere2024.theorem2": ("tests/test_verify.py",),
    "limitpoint.boundary": (
        "tests/theory/test_boundary.py",
        "tests/theory/test_predict.py",
        "tests/theory/test_scale_path.py",
    ),
    "limitpoint.diagonal_form": (
        "tests/test_verify_tensor.py",
        "tests/theory/test_yun_limits.py",
    ),
    "limitpoint.half_lines": (
        "tests/theory/test_boundary.py",
        "tests/theory/test_general_limit.py",
        "tests/theory/test_predict.py",
    ),
    "limitpoint.half_lines_at_zero": (
        "tests/theory/test_general_limit.py",
        "tests/theory/test_saddles.py",
    ),
    "limitpoint.lazy": (
        "tests/theory/test_lazy.py",
        "tests/theory/test_scale_path.py",
    ),
    "limitpoint.null_space_law": ("tests/theory/test_null_space_law.py",),
    "limitpoint.one_sample": ("tests/theory/test_one_sample.py",),
    "limitpoint.own_clocks": ("tests/theory/test_families.py",),
    "limitpoint.rank_one": ("tests/theory/test_rank_one_limit.py",),
    "limitpoint.rank_one_at_zero": ("tests/theory/test_rank_one_limit.py",),
    "lyu2023.corollary1.1": ("tests/theory/test_lyu2023.py",),
    "lyu2023.lemma3": ("tests/dynamics/test_sgd_model.py",),
    "lyu2023.proposition1": ("tests/networks/test_fully_connected.py",),
    "lyu2023.proposition2": ("tests/theory/test_saddle_trap.py",),
    "lyu2023.theorem1": (
        "tests/theory/test_lyu2023.py",
        "tests/theory/test_rank_one_limit.py",
    ),
    "lyu2023.theorem2": ("tests/theory/test_lyu2023.py",),
    "lyu2023.theorem3": ("tests/dynamics/test_sgd_model.py",),
    "varre2023.lemmaC.6": (
        "tests/test_verify_two_layer.py",
        "tests/theory/test_varre2023.py",
    ),
    "varre2023.lemmaC.8": (
        "tests/test_verify_two_layer.py",
        "tests/theory/test_varre2023.py",
    ),
    "varre2023.proposition4.1": ("tests/dynamics/test_noise_process.py",),
    "varre2023.theorem3.1": (
        "tests/test_verify_two_layer.py",
        "tests/theory/test_spectral_potential.py",
        "tests/theory/test_varre2023.py",
    ),
    "varre2023.theorem3.1_at_zero": ("tests/theory/test_varre2023.py",),
    "varre2023.theorem3.2a": ("tests/theory/test_spectral_potential.py",),
    "varre2023.theorem3.2b": ("tests/theory/test_spectral_potential.py",),
    "varre2023.theoremC.12": ("tests/theory/test_riccati.py",),
    "yun2021.corollary1": (
        "tests/test_directions_of_classification.py",
        "tests/theory/test_yun_directions.py",
    ),
    "yun2021.corollary2": (
        "tests/test_directions_of_classification.py",
        "tests/theory/test_yun_directions.py",
    ),
    "yun2021.corollary2_deep": ("tests/theory/test_yun_directions.py",),
    "yun2021.corollary3": (
        "tests/test_directions_of_classification.py",
        "tests/theory/test_yun_directions.py",
    ),
    "yun2021.corollary3_deep": ("tests/theory/test_yun_directions.py",),
    "yun2021.corollary4": ("tests/theory/test_one_sample.py",),
    "yun2021.corollary5": (
        "tests/theory/test_scale_path.py",
        "tests/theory/test_yun_limits.py",
    ),
    "yun2021.corollary6": (
        "tests/test_verify_tensor.py",
        "tests/theory/test_yun_limits.py",
    ),
    "yun2021.corollary7": (
        "tests/test_verify_tensor.py",
        "tests/theory/test_yun_limits.py",
    ),
    "yun2021.theorem1": ("tests/theory/test_yun_directions.py",),
    "yun2021.theorem2": ("tests/theory/test_yun_directions.py",),
    "yun2021.theorem2_deep": ("tests/theory/test_yun_directions.py",),
    "yun2021.theorem3": ("tests/theory/test_one_sample.py",),
    "yun2021.theorem5": (
        "tests/test_verify_tensor.py",
        "tests/theory/test_yun_limits.py",
    ),
    "yun2021.theorem6": (
        "tests/test_verify_tensor.py",
        "tests/theory/test_one_sample.py",
    ),
    "yun2021.theorem7": ("tests/theory/test_dense_vanishing.py",),
    "zhao2026.corollary4.6": (
        "tests/theory/test_saddles.py",
        "tests/theory/test_scale_path.py",
    ),
}

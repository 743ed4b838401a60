"""How a computation ended, in words a person can act on."""

from enum import Enum


class Status(Enum):
    """The end of a prediction, a flow or a training run; the value is the sentence."""

    CONVERGED = "Converged: the data are fitted, or separated, and the optimality conditions hold."
    LEAST_SQUARES = (
        "Converged to the least-squares fit: no coefficients that can be reached fit y exactly "
        "(it is outside the range of the columns that can move, or signs or bounds forbid it)."
    )
    PENALISED = (
        "Converged to the penalised fit: its optimality conditions hold. The data are fitted as "
        "far as the penalty lets them be."
    )
    PROVED = (
        "Proved: float64 alone does not certify this limit (rounding hides the data or their rank, "
        "ties are not decided, or the data are badly conditioned), but exact arithmetic does, for "
        "the data as given, to the last digit. The coefficients are the exact ones, rounded."
    )
    PROVED_LEAST_SQUARES = (
        "Proved to be the least-squares fit that training reaches, in exact arithmetic, for the "
        "data as given, to the last digit; float64 alone does not certify it. No coefficients that "
        "can be reached fit y exactly. The coefficients are the exact ones, rounded."
    )
    SEPARATED = (
        "The data are separated by the margin that was asked for. The direction of the "
        "coefficients goes on turning, ever more slowly: ask for a larger margin to see it nearer "
        "to its limit."
    )
    DIRECTION_CONVERGED = (
        "The direction has converged: while the margin was squared last, it turned by no more than "
        "it is uncertain."
    )
    DEGENERATE = (
        "The optimality conditions hold, but other coefficients fit, or separate, as well at the "
        "same penalty (columns that tie are linearly dependent, say): which of them training "
        "reaches depends on finer detail than the theorem knows."
    )
    NOT_CERTIFIED = (
        "The solver stopped before the optimality conditions held to the required accuracy; "
        "the residuals in the certificate say by how much. Badly conditioned data are the usual "
        "cause: rescale the rows of X or remove nearly dependent ones."
    )
    DATA_HIDDEN = (
        "Rounding hides the data: the terms that add up to some target are so much larger than it "
        "that float64 cannot tell whether it is fitted, and nothing is certified. Start from a "
        "smaller scale."
    )
    RANK_HIDDEN = (
        "Rounding hides the rank of the data: some rows, or columns, depend on the others up to "
        "rounding but not exactly, so that the limit of the data as given, to the last digit, is "
        "another one than that of the data as meant, which this is. Nothing is certified. Leave "
        "out what depends on the rest."
    )
    STOPPED = "Stopped by the stop function at this saddle, before the path's end."
    CROSS_VALIDATED = (
        "Stopped early by cross-validation: samples that were left out were predicted best at this "
        "saddle, before the path's end."
    )
    SADDLE_LIMIT = (
        "Stopped after as many saddles as were asked for; raise max_saddles (n_saddles of an "
        "estimator) to follow the path further."
    )
    REACHED_END = "Reached the requested end; the run had not converged by then."
    STATIONARY = (
        "Nothing moves: the gradient is exactly zero at the start although the data are not "
        "fitted. Layers that are all zero are the usual cause."
    )
    AT_REST = (
        "The flow has come to rest although the data are not separated: signs or zeros of the "
        "start forbid the coefficients that would separate them."
    )
    SADDLE = (
        "On the stable manifold of the saddle at zero: this start lies on the one curve from which "
        "training ends there, although the data could be fitted. Any other start, however near, "
        "gets away."
    )
    STEP_LIMIT = (
        "Stopped at the limit on the number of integration steps, before convergence. "
        "Ask for an earlier t_end, or allow more with max_steps."
    )
    INTEGRATOR_FAILED = (
        "The integrator could not take a step of the required accuracy; "
        "what was reached before that is in the result."
    )
    DIVERGED = (
        "Diverged: the loss is infinite, or so large that what it was at the start is lost to "
        "rounding beside it. The learning rate is too large for these data."
    )

    @property
    def words(self) -> str:
        """Its name within a sentence."""
        return self.name.lower().replace("_", " ")

    @property
    def ok(self) -> bool:
        """Whether the limit, exact or by least squares, the margin or the end was reached."""
        return self in (
            Status.CONVERGED,
            Status.LEAST_SQUARES,
            Status.PENALISED,
            Status.PROVED,
            Status.PROVED_LEAST_SQUARES,
            Status.SEPARATED,
            Status.DIRECTION_CONVERGED,
        )

    def __str__(self) -> str:
        return self.value

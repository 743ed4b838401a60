"""A network without a mirror map or logarithmic coordinates, as a newly added one may be."""

from limitpoint.networks.paired import Paired


class Unmapped(Paired):
    """The paired network, of which nothing is known but its coefficients."""

    def mirror_map(self, init):
        return None

    def layers_at(self, init, xi):
        return None

    def activation_times(self, init):
        return None

    def log_chart(self, init):
        return None

"""Random calls of everything public: valid, borderline and wrong arguments, options and files.

Whatever is called, only results come back or errors of `limitpoint.errors` (or scikit-learn's own,
or a TypeError about the signature): never another exception, a warning, a hang, a changed argument,
or a number that is not finite where the status says that all went well.

    python -m tests.fuzz --count 20000 --seed 7      a longer campaign
    python -m tests.fuzz --seed 7 --case 1234        one case again, with its traceback
"""

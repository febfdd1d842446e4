"""Corpora of any size, cut into parts, on the processes of this machine or on a Ray cluster.

`preparation.prepare` tokenizes a recipe's text and `translation.translate_files` translates files;
a `worker_pool.WorkerPool` provides the workers. Each of the three is imported from its own module.
"""

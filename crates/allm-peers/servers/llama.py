"""The server of llama.cpp with a small real model, on a free port of this machine.

Prints its address, and ends when its standard input is closed: so it never outlives the test.
"""

import pathlib
import sys

import xllamacpp

model, template = (pathlib.Path(argument) for argument in sys.argv[1:])

params = xllamacpp.CommonParams()
params.model.path = str(model)
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.offline = True
params.n_ctx = 4096
params.n_parallel = 2
# It spins while it waits: a second thread on a busy machine makes it slower.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.sampling.temp = 0.0
params.use_jinja = True
params.chat_template = template.read_text()
params.verbosity = 0

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()

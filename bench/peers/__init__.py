"""`make bench PEERS=1`: our engine, Pathway and Flink SQL on the same changes of TPC-H, one after the other."""

/** A node's own work; with buckets, a histogram would be fifteen series. */
const WORK = /^(svc|bee)_(?!.*_bucket$)/;
/** Processor time, memory, event loop, garbage collection; a Bee reports less. */
const PROCESS =
  /^(process_(cpu_seconds_total|resident_memory_bytes|open_fds)|nodejs_heap_size_used_bytes|nodejs_eventloop_lag_(mean|p99|max)_seconds|nodejs_gc_duration_seconds_(sum|count)|go_goroutines|go_gc_duration_seconds_(sum|count))$/;
const TESTBED = /^testbed_(?!.*_bucket$)/;
/** A Bee's database and libraries: hundreds of series that no figure uses. */
const NOISE = /^bee_(localstore_leveldb|transaction_method|eth_backend_calls)/;

export function isKept(name: string): boolean {
  return (WORK.test(name) && !NOISE.test(name)) || PROCESS.test(name) || TESTBED.test(name);
}

export function keptName(name: string): string {
  return name.replace(/^(svc|bee)_/, '');
}

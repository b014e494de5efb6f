/** Which series of a node a run keeps, under which names. */

/** What our own node or a Bee reports about its work; with buckets, a histogram would be fifteen series. */
const WORK = /^(svc|bee)_(?!.*_bucket$)/;
/** Processor time, memory, event loop, garbage collection; a Bee reports less. */
const PROCESS =
  /^(process_(cpu_seconds_total|resident_memory_bytes|open_fds)|nodejs_heap_size_used_bytes|nodejs_eventloop_lag_(mean|p99|max)_seconds|nodejs_gc_duration_seconds_(sum|count)|go_goroutines|go_gc_duration_seconds_(sum|count))$/;
const TESTBED = /^testbed_(?!.*_bucket$)/;
/** Series of a Bee's database and libraries: hundreds that no figure uses. */
const NOISE = /^bee_(localstore_leveldb|transaction_method|eth_backend_calls)/;

/** @param name as exposed */
export function isKept(name: string): boolean {
  return (WORK.test(name) && !NOISE.test(name)) || PROCESS.test(name) || TESTBED.test(name);
}

/** The name without the dialect's prefix. */
export function keptName(name: string): string {
  return name.replace(/^(svc|bee)_/, '');
}

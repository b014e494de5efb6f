/** Which series of a node are kept with a run, and under which names. */

/** What an own node or a Bee says of its work; counted for each bucket, a histogram would be fifteen series. */
const WORK = /^(svc|bee)_(?!.*_bucket$)/;
/** Of the process: processor time, memory, event loop, garbage collection. A Bee's runtime says less. */
const PROCESS =
  /^(process_(cpu_seconds_total|resident_memory_bytes|open_fds)|nodejs_heap_size_used_bytes|nodejs_eventloop_lag_(mean|p99|max)_seconds|nodejs_gc_duration_seconds_(sum|count)|go_goroutines|go_gc_duration_seconds_(sum|count))$/;
const TESTBED = /^testbed_(?!.*_bucket$)/;
/** Of a Bee's database and of its libraries: hundreds of series that no figure is made of. */
const NOISE = /^bee_(localstore_leveldb|transaction_method|eth_backend_calls)/;

/** @param name as it is exposed */
export function isKept(name: string): boolean {
  return (WORK.test(name) && !NOISE.test(name)) || PROCESS.test(name) || TESTBED.test(name);
}

/** Without the prefix of the dialect. */
export function keptName(name: string): string {
  return name.replace(/^(svc|bee)_/, '');
}

/** Its input closes however its starter ends. */
process.stdin.once('end', () => process.exit()).resume();

function spin(): void {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(spin);
}
spin();

/** Keeps one core busy until its input closes, which it does however the one that started it ends. */
process.stdin.once('end', () => process.exit()).resume();

function spin(): void {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(spin);
}
spin();

/** @returns seconds of the processor, of all threads of this process */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const before = cpuS();
  await work();
  return cpuS() - before;
}

export function cpuS(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

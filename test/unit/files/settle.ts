export async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

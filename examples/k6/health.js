import { ask, nodes, operation, upload } from 'svcnet/k6';

export default async function () {
  await upload({ size: 10_000 });
  await operation('health', nodes[0].name, () => {
    const { ms } = ask(nodes[0], { method: 'GET', path: '/health' }, 'text');
    return { bytes: 0, ms };
  });
}

/** No API server: the manifests are compared with the client's models, and with each other. */
import * as kubernetes from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { DefinitionInput } from '../../../../harness/cluster/plan/definition-input.ts';
import { exportKubernetes } from '../../../../harness/export/kubernetes.ts';
import { MIXED, requestFor } from './kit.ts';

type Labels = Record<string, string>;
interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
}

function exported(input: DefinitionInput = MIXED) {
  const [file, network] = exportKubernetes(requestFor(input)).files;
  const manifests = parseAllDocuments(file?.content ?? '').map(
    (document) => document.toJS() as Manifest | null,
  );
  return {
    text: file?.content ?? '',
    manifests: manifests.filter((manifest) => manifest !== null),
    network: parse(network?.content ?? '') as { name: string; nodes: { name: string }[] },
    file,
  };
}

const { manifests } = exported();
const ofKind = <T>(kind: string, from: Manifest[] = manifests) =>
  from.filter((one) => one.kind === kind) as T[];
const sets = ofKind<kubernetes.V1StatefulSet>('StatefulSet');
const services = ofKind<kubernetes.V1Service>('Service');
const configMaps = ofKind<kubernetes.V1ConfigMap>('ConfigMap');
const secrets = ofKind<kubernetes.V1Secret>('Secret');
const labelsOf = (set: kubernetes.V1StatefulSet) => set.spec?.template.metadata?.labels ?? {};
const containersOf = ({ spec }: kubernetes.V1StatefulSet) => [
  ...(spec?.template.spec?.initContainers ?? []),
  ...(spec?.template.spec?.containers ?? []),
];
const selects = (selector: Labels = {}, labels: Labels = {}) =>
  Object.keys(selector).length > 0 && Object.entries(selector).every(([key, value]) => labels[key] === value);
/** With the labels that the cluster gives them. */
const pods = sets.flatMap((set) =>
  Array.from({ length: set.spec?.replicas ?? 0 }, (_, ordinal) => {
    const name = `${set.metadata?.name}-${ordinal}`;
    return { name, set, labels: { ...labelsOf(set), 'statefulset.kubernetes.io/pod-name': name } };
  }),
);

interface Attribute {
  baseName: string;
  type: string;
}
const MODELS = kubernetes as unknown as Record<string, { getAttributeTypeMap?(): Attribute[] }>;

/** What a value has that its model does not, or has as another type. */
function strangers(value: unknown, type: string, at: string): string[] {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${at} is no list`];
    return value.flatMap((item, index) => strangers(item, list, `${at}[${index}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) {
    return Object.entries(value as object).flatMap(([key, item]) => strangers(item, map, `${at}.${key}`));
  }
  const attributes = MODELS[type]?.getAttributeTypeMap?.();
  if (attributes === undefined) {
    if (type === 'IntOrString')
      return ['number', 'string'].includes(typeof value) ? [] : [`${at} is no ${type}`];
    return typeof value === type ? [] : [`${at} is ${typeof value}, not ${type}`];
  }
  return Object.entries(value as object).flatMap(([key, item]) => {
    const attribute = attributes.find(({ baseName }) => baseName === key);
    return attribute === undefined
      ? [`${at}.${key} is unknown`]
      : strangers(item, attribute.type, `${at}.${key}`);
  });
}

test('every field is part of the API and has its type', () => {
  expect(
    manifests.flatMap((one) => strangers(one, `V1${one.kind}`, `${one.kind} ${one.metadata.name}`)),
  ).toEqual([]);
});

test('a field that is not part of the API is found', () => {
  const wrong = { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: '80', prot: 'TCP' }] } };
  expect(strangers(wrong, 'V1Service', 'it')).toEqual([
    'it.spec.ports[0].port is string, not number',
    'it.spec.ports[0].prot is unknown',
  ]);
});

test('everything is in one namespace, which comes first, and no name is used twice', () => {
  const [namespace, ...rest] = manifests;
  expect(namespace).toMatchObject({ kind: 'Namespace', metadata: { name: 'demo' } });
  expect(rest.every(({ metadata }) => metadata.namespace === 'demo')).toBe(true);
  const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(new Set(names).size).toBe(names.length);
});

test('every pod has a configuration and the keys that its set mounts', () => {
  for (const { name, set } of pods.filter(({ set: { metadata } }) => metadata?.name !== 'chain')) {
    const volumes = set.spec?.template.spec?.volumes ?? [];
    const config = volumes.find(({ configMap }) => configMap !== undefined)?.configMap?.name;
    expect(configMaps.find(({ metadata }) => metadata?.name === config)?.data).toHaveProperty([
      `${name}.yaml`,
    ]);
    const secret = volumes.find((volume) => volume.secret !== undefined)?.secret;
    const data = secrets.find(({ metadata }) => metadata?.name === secret?.secretName)?.stringData ?? {};
    const own = (secret?.items ?? []).filter(({ path }) => path.startsWith(`${name}/`));
    expect(own.map(({ path }) => path)).toEqual(
      ['swarm', 'libp2p', 'pss'].map((kind) => `${name}/${kind}.key`),
    );
    for (const { key } of own) expect(data).toHaveProperty([key]);
  }
});

test('no key is mounted by a set whose pod does not own it', () => {
  const mounted = sets.flatMap(
    ({ spec }) => spec?.template.spec?.volumes?.flatMap(({ secret }) => secret?.items ?? []) ?? [],
  );
  const keys = secrets.find(({ metadata }) => metadata?.name !== 'chain');
  expect(mounted.map(({ key }) => key).sort()).toEqual(Object.keys(keys?.stringData ?? {}).sort());
});

test('every mount of a container is a volume or a claim of its set, and every volume is mounted', () => {
  for (const set of sets) {
    const claims = (set.spec?.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name);
    const volumes = (set.spec?.template.spec?.volumes ?? []).map(({ name }) => name);
    const mounted = containersOf(set).flatMap(({ volumeMounts = [] }) =>
      volumeMounts.map(({ name }) => name),
    );
    expect(new Set(mounted)).toEqual(new Set([...claims, ...volumes]));
    for (const { configMap } of set.spec?.template.spec?.volumes ?? []) {
      if (configMap !== undefined)
        expect(configMaps.map(({ metadata }) => metadata?.name)).toContain(configMap.name);
    }
  }
});

test('a set selects its pods and names a service that selects them too', () => {
  for (const set of sets) {
    expect(selects(set.spec?.selector.matchLabels, labelsOf(set))).toBe(true);
    const others = sets.filter((other) => other !== set);
    expect(others.some((other) => selects(set.spec?.selector.matchLabels, labelsOf(other)))).toBe(false);
    const service = services.find(({ metadata }) => metadata?.name === set.spec?.serviceName);
    expect(service?.spec?.clusterIP).toBe('None');
    expect(selects(service?.spec?.selector, labelsOf(set))).toBe(true);
  }
});

test('a service selects pods, and its ports are those of their containers', () => {
  for (const { metadata, spec } of services) {
    const selected = pods.filter(({ labels }) => selects(spec?.selector, labels));
    expect(selected.length, metadata?.name).toBeGreaterThan(0);
    const names = selected[0]?.set.spec?.template.spec?.containers[0]?.ports?.map(({ name }) => name);
    for (const { targetPort } of spec?.ports ?? []) expect(names).toContain(targetPort);
  }
});

test('each node of the network file has a service that leads to one pod, whose configuration holds its name', () => {
  const { network } = exported();
  expect(network.nodes).toHaveLength(5);
  for (const { name } of network.nodes) {
    const service = services.find(({ metadata }) => metadata?.name === name);
    const selected = pods.filter(({ labels }) => selects(service?.spec?.selector, labels));
    expect(selected).toHaveLength(1);
    const config = configMaps.find(({ metadata }) => metadata?.name === 'nodes')?.data?.[
      `${selected[0]?.name}.yaml`
    ];
    expect(JSON.parse(config ?? '')).toMatchObject({
      'node-name': name,
      'nat-addr': `${selected[0]?.name}.nodes:1634`,
      'api-open': true,
      'allowed-hosts': expect.arrayContaining([
        name,
        `${selected[0]?.name}.nodes`,
        `${name}.${network.name}.svc.cluster.local`,
      ]),
    });
  }
});

test('probes use ports of their container', () => {
  for (const set of sets) {
    for (const { ports = [], startupProbe, readinessProbe, livenessProbe } of set.spec?.template.spec
      ?.containers ?? []) {
      for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
        expect(ports.map(({ name }) => name)).toContain(probe?.httpGet?.port);
      }
    }
  }
});

test('pods meet the restricted standard, and have requests and limits', () => {
  for (const set of sets) {
    expect(set.spec?.template.spec?.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const { securityContext, resources } of containersOf(set)) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources?.requests).toHaveProperty('memory');
    }
  }
  const limited = sets.find(({ metadata }) => metadata?.name === 'group-0');
  expect(limited?.spec?.template.spec?.containers[0]?.resources?.limits).toEqual({
    cpu: '0.5',
    memory: '268435456',
  });
});

test('temporary files have a limit, which the large ones of the chain do not count towards', () => {
  for (const { spec } of sets) {
    const volume = spec?.template.spec?.volumes?.find(({ name }) => name === 'tmp');
    expect(volume?.emptyDir).toEqual({ sizeLimit: String(2 ** 26) });
  }
  const chain = sets.find(({ metadata }) => metadata?.name === 'chain');
  expect(chain?.spec?.template.spec?.containers[0]?.env).toEqual([{ name: 'TMPDIR', value: '/data' }]);
});

test('each set of nodes has a disruption budget that selects only this set', () => {
  const budgets = ofKind<kubernetes.V1PodDisruptionBudget>('PodDisruptionBudget');
  const selected = budgets.map(({ spec }) =>
    sets
      .filter((set) => selects(spec?.selector?.matchLabels, labelsOf(set)))
      .map(({ metadata }) => metadata?.name),
  );
  expect(selected).toEqual([['group-0'], ['group-1']]);
});

test('nodes of one group have their own names as pod names', () => {
  const [one] = ofKind<kubernetes.V1StatefulSet>('StatefulSet', exported({ nodes: 3 }).manifests).slice(1);
  expect(one).toMatchObject({
    metadata: { name: 'node' },
    spec: { replicas: 3, podManagementPolicy: 'Parallel' },
  });
});

test('two hundred nodes fit into the objects that hold their files', () => {
  const large = exported({ nodes: 200 }).manifests;
  for (const kind of ['ConfigMap', 'Secret']) {
    for (const object of ofKind<Manifest>(kind, large))
      expect(JSON.stringify(object).length).toBeLessThan(1_000_000);
  }
});

test('the manifests hold keys, so their file is a secret', () => {
  expect(exported().file?.secret).toBe(true);
});

test('objects are applied by the server: of many nodes they are too large for the annotation of the client', () => {
  const { files, next } = exportKubernetes(requestFor({ nodes: 150 }));
  const sizes = parseAllDocuments(files[0]?.content ?? '').map((one) => JSON.stringify(one.toJS()).length);
  const ANNOTATIONS_MAX_BYTES = 262_144;
  expect(Math.max(...sizes)).toBeGreaterThan(ANNOTATIONS_MAX_BYTES);
  expect(next((path) => path)[0]).toBe('kubectl apply --server-side -f kubernetes.yaml');
  expect(files[0]?.content).toContain('#   kubectl apply --server-side -f kubernetes.yaml ');
});

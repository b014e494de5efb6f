/**
 * Manifests for `kubectl apply`. A group is a StatefulSet and a node one of its pods, whose name selects configuration and
 * keys.
 */
import type {
  KubernetesObject,
  V1Container,
  V1PersistentVolumeClaim,
  V1PodDisruptionBudget,
  V1PodSpec,
  V1Probe,
  V1ResourceRequirements,
  V1Secret,
  V1ServiceSpec,
  V1StatefulSet,
  V1VolumeMount,
} from '@kubernetes/client-node';
import { CONFINEMENT } from '../base/machine/confinement.ts';
import {
  CHAIN_HEALTH_PATH,
  CHAIN_PORTS,
  DATA_FOLDER,
  NODE_PORTS,
  NODE_READINESS_PATH,
  USER_ID,
} from '../flavours/inside-image.ts';
import { type ContainerNetwork, type ContainerNode, containerNetwork } from './container-network.ts';
import {
  CHAIN,
  CHAIN_ENVIRONMENT,
  CHAIN_PROGRAM,
  CONFIG_FOLDER,
  IMAGE,
  NODE_HEALTH_PATH,
  NODE_PROGRAM,
  nodeArguments,
  STOP_GRACE_SECONDS,
  WAIT_FOR_CHAIN,
} from './container-programs.ts';
import type { Exported, ExportRequest } from './export-request.ts';
import { NETWORK_FILE, networkFile } from './network-file.ts';
import { localDoors, nameOf, publishedPorts } from './published.ts';
import { commented, yamlText } from './yaml-text.ts';

const MANIFEST_FILE = 'kubernetes.yaml';
/** Headless: `node-0.nodes` is that pod. */
const NODES_SERVICE = 'nodes';
const NODES_CONFIG = 'nodes';
const NODES_KEYS = 'node-keys';
const REQUESTS = { cpu: '50m', memory: '192Mi' };
const CHAIN_REQUESTS = { cpu: '100m', memory: '256Mi' };
const VOLUME_SIZE = '2Gi';
/** Of probes, and failures during a start: ten minutes, for large images and slow disks. */
const PROBE_SECONDS = 5;
const STARTUP_FAILURES = 120;

type SetNode = ContainerNode & { readonly pod: string; readonly set: string };

export function exportKubernetes(request: ExportRequest): Exported {
  const { definition } = request;
  const name = nameOf(definition);
  const pods = podsOf(definition.nodes.map(({ count }) => count));
  const hostOf = (node: string) => `${pods.get(node)?.pod ?? node}.${NODES_SERVICE}`;
  const network = containerNetwork(request, {
    nodeHost: hostOf,
    // Its service, and both names in other namespaces.
    otherHosts: (node) => [
      node,
      ...['', '.svc', '.svc.cluster.local'].flatMap((end) =>
        [node, hostOf(node)].map((host) => `${host}.${name}${end}`),
      ),
    ],
  });
  const forwards = forwardCommands(request);
  return {
    files: [
      {
        path: MANIFEST_FILE,
        content: manifestText(request, manifests(request, network, pods)),
        secret: true,
      },
      networkFile(network, localDoors({ ...definition, listen: '127.0.0.1' }), [
        'Run these first, all of them: attach refuses this file if a node in it does not answer.',
        ...forwards.map((line) => `  ${line}`),
      ]),
    ],
    next: (at) => [
      `kubectl apply --server-side -f ${at(MANIFEST_FILE)}`,
      `svcnet attach -f ${at(NETWORK_FILE)}   # after the port-forward commands at its top`,
      `kubectl delete namespace ${name}`,
    ],
  };
}

type Pods = ReadonlyMap<string, Pick<SetNode, 'set' | 'pod'>>;

function podsOf(counts: readonly number[]): Pods {
  const pods = counts.flatMap((count, group) => {
    const set = counts.length === 1 ? 'node' : `group-${group}`;
    return Array.from({ length: count }, (_, ordinal) => ({ set, pod: `${set}-${ordinal}` }));
  });
  return new Map(pods.map((pod, index) => [`node-${index}`, pod]));
}

function manifests(request: ExportRequest, network: ContainerNetwork, pods: Pods): KubernetesObject[] {
  const { image = IMAGE } = request;
  const namespace = nameOf(request.definition);
  const nodes = network.nodes.map(
    (node): SetNode => ({ ...node, ...(pods.get(node.name) as Pick<SetNode, 'set' | 'pod'>) }),
  );
  const sets = Map.groupBy(nodes, ({ set }) => set);
  const kit = { namespace, image };
  const configs = Object.fromEntries(nodes.map(({ pod, config }) => [`${pod}.yaml`, config]));
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: { ...labels(kit), 'pod-security.kubernetes.io/enforce': 'restricted' },
      },
    },
    secret(kit, CHAIN, { 'chain.json': network.chain }),
    manifest(kit, 'ConfigMap', NODES_CONFIG, { data: configs }),
    keysSecret(kit, nodes),
    headlessService(kit, { name: CHAIN, component: 'chain', ports: CHAIN_PORTS, early: false }),
    // Readiness requires peers: nodes must find each other before.
    headlessService(kit, { name: NODES_SERVICE, component: 'node', ports: NODE_PORTS, early: true }),
    ...nodes.map((node) => nodeService(kit, node)),
    chainSet(kit),
    ...[...sets].flatMap(([set, members]) => [nodeSet(kit, set, members), budget(kit, set)]),
  ];
}

interface Kit {
  readonly namespace: string;
  readonly image: string;
}

function labels({ namespace }: Kit, component?: 'chain' | 'node', set?: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'svcnet',
    'app.kubernetes.io/instance': namespace,
    ...(component === undefined ? {} : { 'app.kubernetes.io/component': component }),
    ...(set === undefined ? {} : { 'svcnet/set': set }),
  };
}

function manifest<T extends object>(kit: Kit, kind: string, name: string, rest: T, apiVersion = 'v1') {
  return { apiVersion, kind, metadata: { name, namespace: kit.namespace, labels: labels(kit) }, ...rest };
}

const keyName = (pod: string, path: string) => `${pod}.${path.replace(/^keys\//, '')}`;

function keysSecret(kit: Kit, nodes: readonly SetNode[]): V1Secret {
  const entries = nodes.flatMap(({ pod, keys }) =>
    keys.map(({ path, content }): [string, string] => [keyName(pod, path), content]),
  );
  return secret(kit, NODES_KEYS, Object.fromEntries(entries));
}

function secret(kit: Kit, name: string, stringData: Record<string, string>): V1Secret {
  return manifest(kit, 'Secret', name, { type: 'Opaque', stringData });
}

const servicePorts = (ports: Readonly<Record<string, number>>) =>
  Object.entries(ports).map(([name, port]) => ({ name, port, targetPort: name }));

const containerPorts = (ports: Readonly<Record<string, number>>) =>
  Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort }));

function headlessService(
  kit: Kit,
  of: { name: string; component: 'chain' | 'node'; ports: Readonly<Record<string, number>>; early: boolean },
): KubernetesObject {
  const spec: V1ServiceSpec = {
    clusterIP: 'None',
    publishNotReadyAddresses: of.early,
    selector: labels(kit, of.component),
    ports: servicePorts(of.ports),
  };
  return manifest(kit, 'Service', of.name, { spec });
}

/** An address of this node alone. */
function nodeService(kit: Kit, { name, pod }: SetNode): KubernetesObject {
  const { api, debug } = NODE_PORTS;
  const spec: V1ServiceSpec = {
    selector: { ...labels(kit, 'node'), 'statefulset.kubernetes.io/pod-name': pod },
    ports: servicePorts({ api, debug }),
  };
  return manifest(kit, 'Service', name, { spec });
}

function chainSet(kit: Kit): V1StatefulSet {
  const container: V1Container = {
    ...containerBasics(kit),
    name: 'chain',
    command: [...CHAIN_PROGRAM, `${CONFIG_FOLDER}/chain.json`],
    env: Object.entries(CHAIN_ENVIRONMENT).map(([name, value]) => ({ name, value })),
    ports: containerPorts(CHAIN_PORTS),
    resources: { requests: CHAIN_REQUESTS },
    ...probes('control', CHAIN_HEALTH_PATH, CHAIN_HEALTH_PATH),
    volumeMounts: mounts(),
  };
  return statefulSet(kit, {
    name: CHAIN,
    service: CHAIN,
    replicas: 1,
    labels: labels(kit, 'chain'),
    pod: {
      containers: [container],
      volumes: [{ name: 'config', secret: { secretName: CHAIN, defaultMode: 0o440 } }, TMP_VOLUME],
    },
  });
}

function nodeSet(kit: Kit, name: string, nodes: readonly SetNode[]): V1StatefulSet {
  const own = { ...kit, image: nodes[0]?.image ?? kit.image };
  const container: V1Container = {
    ...containerBasics(own),
    name: 'node',
    command: [...NODE_PROGRAM],
    args: nodeArguments(`${CONFIG_FOLDER}/$(POD_NAME).yaml`),
    env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    ports: containerPorts(NODE_PORTS),
    resources: resourcesOf(nodes[0]?.resources),
    ...probes('api', NODE_HEALTH_PATH, NODE_READINESS_PATH),
    // Each container sees only its own keys.
    volumeMounts: mounts({
      name: 'keys',
      mountPath: `${DATA_FOLDER}/keys`,
      subPathExpr: '$(POD_NAME)',
      readOnly: true,
    }),
  };
  return statefulSet(kit, {
    name,
    service: NODES_SERVICE,
    replicas: nodes.length,
    labels: labels(kit, 'node', name),
    pod: {
      initContainers: [waitForChain(own)],
      containers: [container],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: labels(kit, 'node') },
        },
      ],
      volumes: [
        { name: 'config', configMap: { name: NODES_CONFIG } },
        { name: 'keys', secret: { secretName: NODES_KEYS, defaultMode: 0o440, items: keyItems(nodes) } },
        TMP_VOLUME,
      ],
    },
  });
}

/** A mount can select only a folder by the pod's name. */
function keyItems(nodes: readonly SetNode[]): { key: string; path: string }[] {
  return nodes.flatMap(({ pod, keys }) =>
    keys.map(({ path }) => ({ key: keyName(pod, path), path: path.replace(/^keys/, pod) })),
  );
}

function waitForChain(kit: Kit): V1Container {
  return {
    ...containerBasics(kit),
    name: 'wait-for-chain',
    command: [...WAIT_FOR_CHAIN],
    resources: { requests: { cpu: '10m', memory: '64Mi' } },
  };
}

function containerBasics({ image }: Kit): Pick<V1Container, 'image' | 'imagePullPolicy' | 'securityContext'> {
  return {
    image,
    imagePullPolicy: 'IfNotPresent',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
}

type PodParts = Pick<V1PodSpec, 'containers' | 'initContainers' | 'topologySpreadConstraints' | 'volumes'>;

const { folder, bytes } = CONFINEMENT.temporary;
const TMP_VOLUME = { name: 'tmp', emptyDir: { sizeLimit: String(bytes) } };

function statefulSet(
  kit: Kit,
  of: {
    name: string;
    service: string;
    replicas: number;
    labels: Record<string, string>;
    pod: PodParts;
  },
): V1StatefulSet {
  const template = {
    metadata: { labels: of.labels },
    spec: {
      automountServiceAccountToken: false,
      // Otherwise every port of every service is an environment variable.
      enableServiceLinks: false,
      terminationGracePeriodSeconds: STOP_GRACE_SECONDS,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER_ID,
        runAsGroup: USER_ID,
        fsGroup: USER_ID,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...of.pod,
    },
  };
  const spec = {
    serviceName: of.service,
    replicas: of.replicas,
    // No pod waits for the previous one.
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: of.labels },
    template,
    volumeClaimTemplates: [DATA_CLAIM],
  };
  return manifest(kit, 'StatefulSet', of.name, { spec }, 'apps/v1');
}

const DATA_CLAIM: V1PersistentVolumeClaim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: VOLUME_SIZE } } },
};

function probes(
  port: string,
  health: string,
  readiness: string,
): Pick<V1Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'> {
  const probe = (path: string, failureThreshold: number): V1Probe => ({
    httpGet: { path, port },
    periodSeconds: PROBE_SECONDS,
    timeoutSeconds: PROBE_SECONDS,
    failureThreshold,
  });
  return {
    startupProbe: probe(health, STARTUP_FAILURES),
    readinessProbe: probe(readiness, 3),
    livenessProbe: probe(health, 6),
  };
}

function mounts(...own: V1VolumeMount[]): V1VolumeMount[] {
  return [
    { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
    { name: 'data', mountPath: DATA_FOLDER },
    ...own,
    { name: 'tmp', mountPath: folder },
  ];
}

/** A pod with limits requests as much. */
function resourcesOf(resources: ContainerNode['resources']): V1ResourceRequirements {
  const limits = {
    ...(resources?.cpus === undefined ? {} : { cpu: String(resources.cpus) }),
    ...(resources?.memory === undefined ? {} : { memory: String(resources.memory) }),
  };
  return {
    requests: { ...REQUESTS, ...limits },
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** Machines are drained one node at a time. */
function budget(kit: Kit, set: string): V1PodDisruptionBudget {
  const spec = { maxUnavailable: 1, selector: { matchLabels: labels(kit, 'node', set) } };
  return manifest(kit, 'PodDisruptionBudget', set, { spec }, 'policy/v1');
}

/** They end with their shell. */
function forwardCommands({ definition }: ExportRequest): string[] {
  const { chain, nodes } = publishedPorts(definition);
  const forward = (service: string, ports: string) =>
    `kubectl -n ${nameOf(definition)} port-forward service/${service} ${ports} &`;
  return [
    forward(CHAIN, `${chain.rpc}:${CHAIN_PORTS.rpc} ${chain.control}:${CHAIN_PORTS.control}`),
    ...nodes.map(({ api, debug }, index) =>
      forward(`node-${index}`, `${api}:${NODE_PORTS.api} ${debug}:${NODE_PORTS.debug}`),
    ),
  ];
}

function manifestText(
  { definition, seed, image = IMAGE }: ExportRequest,
  documents: readonly KubernetesObject[],
): string {
  const name = nameOf(definition);
  const notes = [
    'A storage network for Kubernetes, as written by: svcnet export kubernetes',
    '',
    `  kubectl apply --server-side -f ${MANIFEST_FILE}   begin, or apply a new export`,
    `  kubectl -n ${name} wait --for=condition=Ready pod --all --timeout=10m`,
    '  svcnet attach -f network.yaml                  with the ports forwarded as that file says',
    `  kubectl delete namespace ${name}                   end, and remove everything`,
    '',
    'Without --server-side kubectl keeps a copy of each object in an annotation, which more than some 120 nodes exceed.',
    `The machines of the cluster need the image ${image}.`,
    `The keys are test keys that anybody can derive from the seed ${seed}: never use them on another chain.`,
  ];
  return `${commented(notes)}---\n${documents.map(yamlText).join('---\n')}`;
}

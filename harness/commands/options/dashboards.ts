import { whole } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { interval, JSON_OPTION, NAME_OPTION } from './values.ts';

const DEFAULT_INTERVAL_MS = 2000;
const PORT_MAX = 65_535;

export const dashboards: CommandOptions = {
  options: {
    ...NAME_OPTION,
    '--port <port>': {
      help: 'port of Prometheus, 0 for any free port (default: 9090)',
      parse: whole(0, PORT_MAX),
    },
    '--grafana-port <port>': {
      help: 'port of Grafana, 0 for any free port (default: 3000)',
      parse: whole(0, PORT_MAX),
    },
    '--interval <duration>': {
      help: 'scrape interval',
      parse: interval,
      default: DEFAULT_INTERVAL_MS,
      shown: '2s',
    },
    '--prometheus <path>':
      'Prometheus executable (default: SVCNET_PROMETHEUS, then PATH, then its container image)',
    '--grafana <path>': 'Grafana executable (default: SVCNET_GRAFANA, then PATH, then its container image)',
    '--no-grafana': 'start only Prometheus',
    '--stop': "stop the cluster's dashboards",
    ...JSON_OPTION,
  },
  note: `
Prometheus and Grafana listen on this machine only; Grafana shows the dashboards without a login, read-only.
Their data stays in the cluster's folder until svcnet down, which also stops them.
Runs and loads on the cluster appear on the dashboards automatically.

Examples:
  svcnet dashboards
  svcnet dashboards --port 0 --grafana-port 0 --interval 1s
  svcnet dashboards --no-grafana --prometheus ./prometheus
  svcnet dashboards --stop`,
};

/** The actions on one node. Apart from their code, so that the command line lists them without loading it. */
export const NODE_ACTIONS = {
  stop: 'shut a node down cleanly and wait until it has ended',
  start: 'start a stopped or killed node with its data; without a node, a whole cluster that is down',
  kill: 'kill a node at once, as a power cut would',
  pause: 'freeze a node: its connections stay open but it does not answer',
  resume: 'resume a paused node',
} as const;
export type NodeAction = keyof typeof NODE_ACTIONS;

/** What can be done to one node; the command line knows these without loading how. */
export const NODE_ACTIONS = {
  stop: 'ask a node to stop, and wait until it has',
  start: 'start a stopped or killed node where it was left, and wait until it is ready',
  kill: 'end a node at once, as a power cut would',
  pause: 'freeze a node: its connections stay open and nothing answers',
  resume: 'let a paused node go on',
} as const;
export type NodeAction = keyof typeof NODE_ACTIONS;

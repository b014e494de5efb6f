import { exportCompose } from './compose.ts';
import type { Exported, ExportRequest } from './export-request.ts';
import { exportKubernetes } from './kubernetes.ts';
import type { Target } from './obstacles.ts';
import { exportStack } from './stack.ts';

export const EXPORTS: Readonly<Record<Target, (request: ExportRequest) => Exported>> = {
  compose: exportCompose,
  stack: exportStack,
  kubernetes: exportKubernetes,
};

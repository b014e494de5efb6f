import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, NAME_OPTION } from './values.ts';

export const saveSnapshot: CommandOptions = {
  arguments: ['name of the snapshot'],
  options: { ...NAME_OPTION, '--force': 'replace an existing snapshot of that name', ...JSON_OPTION },
};

export const listAllSnapshots: CommandOptions = { options: JSON_OPTION };

export const removeOneSnapshot: CommandOptions = {
  arguments: ['name of the snapshot'],
  options: JSON_OPTION,
};

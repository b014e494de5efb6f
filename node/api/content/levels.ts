/** Redundancy levels in requests, and their defaults: `http-api-completion.md` 4.3, 4.4. */
import { LEVEL_MAX, type RedundancyLevel } from '../../files/redundancy/redundancy.ts';
import { type Kind, uint } from '../values/kinds.ts';
import { optional, readIf, redundancyLevelInRange, varying } from '../values/params.ts';

const level = (absent: RedundancyLevel) =>
  optional(uint(8) as Kind<RedundancyLevel>, absent, { checks: [redundancyLevelInRange] });

/** Level of uploads. */
export const UPLOAD_LEVEL = varying(({ uploadLevel }) => level(uploadLevel));
/** Limits the search for root replicas. */
export const DOWNLOAD_LEVEL = level(LEVEL_MAX);

/** Read by some dialects only: feeds, changes of grantees. */
export const OTHER_UPLOAD_LEVEL = varying(({ levelEverywhere, uploadLevel }) =>
  readIf(levelEverywhere, level(uploadLevel)),
);
/** Pins, stewardship, single chunks, lists of grantees. */
export const OTHER_DOWNLOAD_LEVEL = varying(({ levelEverywhere }) => readIf(levelEverywhere, DOWNLOAD_LEVEL));
export const REUPLOAD_LEVEL = varying(({ levelEverywhere, reuploadLevel }) =>
  readIf(levelEverywhere, level(reuploadLevel)),
);

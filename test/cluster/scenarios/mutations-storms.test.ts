/** The checks of storms and of single faults can fail. */
import { STORM_GROUND } from './mutations/grounds.ts';
import { testMutations } from './mutations/on-ground.ts';

testMutations(STORM_GROUND);

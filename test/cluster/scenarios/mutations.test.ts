/** The checks of scenarios that run on almost any cluster can fail. */
import { WIDE_GROUND } from './mutations/grounds.ts';
import { testMutations } from './mutations/on-ground.ts';

testMutations(WIDE_GROUND);

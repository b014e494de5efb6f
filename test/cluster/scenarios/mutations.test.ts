/** The checks of scenarios that most clusters suit can fail. */
import { WIDE_GROUND } from './mutations/grounds.ts';
import { testMutations } from './mutations/on-ground.ts';

testMutations(WIDE_GROUND);

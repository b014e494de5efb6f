/** The checks of scenarios that need a cluster of their own can fail. */
import {
  DISHONEST_GROUND,
  PAYING_GROUND,
  PLAYING_GROUND,
  SILENT_GROUND,
  SMALL_GROUND,
} from './mutations/grounds.ts';
import { testMutations } from './mutations/on-ground.ts';

testMutations(PAYING_GROUND);
testMutations(SMALL_GROUND);
testMutations(PLAYING_GROUND);
testMutations(DISHONEST_GROUND);
testMutations(SILENT_GROUND);

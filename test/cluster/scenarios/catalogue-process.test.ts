import { everyScenarioPasses } from './catalogue.ts';

everyScenarioPasses('process');

import { everyScenarioPasses } from './catalogue.ts';

everyScenarioPasses('embedded');

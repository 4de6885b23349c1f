import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { inFile, inMongo } from '../../fixtures/views/view-settings.ts';
import { rebuildConformance, rebuildRules } from './rebuilds.conformance.ts';

rebuildConformance('SQLite', 240, inFile);
rebuildRules(inFile);

describeWithMongo('with a server', () => {
  rebuildConformance('MongoDB', 36, inMongo);
});

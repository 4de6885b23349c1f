import { once } from 'node:events';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { waitFor } from '@runledger/testing/time/wait-for';
import { aSweep } from '../../blobs/a-sweep.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';

/** Projects, and sweeps BLOBS again and again, until it is killed. */
const { NATS_URL: url = '', NATS_USER: user, NATS_PASSWORD: password, VIEWS_FILE: path = '' } = process.env;
const login = {
  url,
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { password }),
};
const log = await openEventLog({ ...login, name: 'test' }, silentLogger);
const views = sqliteViews({ path });
project(log, views);
await waitFor('the projection', () => views.position());
const sweep = aSweep(log, views, Number(process.env['ERASED_AFTER_MS']));
const sweeping = setInterval(() => {
  sweep.round().catch(() => undefined);
}, 500);
await once(process, 'SIGTERM');
clearInterval(sweeping);

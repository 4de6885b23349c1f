import { silentLogger } from '@runledger/event-log/connect/observability';
import { readGatewayConfig } from '../../src/config.ts';
import { openArchiveObjects } from '../../src/archive/archive-objects.ts';
import { A_SECRET_KEY } from '../fixtures/gateway/a-gateway.ts';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { testBucket } from '@runledger/testing/servers/s3';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { aKey, type Tenant } from '../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../fixtures/requests/requests.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { archivedUpTo, ARCHIVES_AT_ONCE } from './archived-runs.ts';

const HOOK = { webhook: 'https://hooks.example/done' };

const aNotifiedRun = async (bed: TestBed, tenant: Tenant = bed.tenant): Promise<RunKey> => {
  const run = aRun(tenant.org_id);
  await appendAll(bed.log, queued(run, HOOK), assigned(run), started(run), succeeded(run, [anOutput]));
  await appendWebhook(bed.log, webhookDelivered(run));
  return run;
};

describe.each(['jetstream', 'directory', 's3'])(
  'runs whose facts have left the log, archived in %s',
  (kind) => {
    it(
      'are read as before, without their views too, by their organisation alone',
      { timeout: 60_000 },
      async () => {
        await using open = new AsyncDisposableStack();
        const bed = open.use(await openTestBed());
        const { path } = open.use(await folderInMemory('archive'));
        const bucket = kind === 's3' ? (await testBucket()).env : {};
        const archive = { RUNLEDGER_ARCHIVE: kind, RUNLEDGER_ARCHIVE_DIRECTORY: path };
        const environment = { ...ARCHIVES_AT_ONCE, ...bucket, ...archive };
        const other = await bed.newTenant();
        const run = await aNotifiedRun(bed);
        const others = await aNotifiedRun(bed, other);
        const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin', 'runs:read'] });
        const reader = await bed.gateway({ environment });
        const paths = ['', '?at_seq=3', '?at=2999-01-01', '/history', '/history.svg'];
        const read = (query: string, key = admin): Promise<ApiAnswer> =>
          call(`${reader.api}/run/${run.run_id}${query}`, key);
        const before: Pick<ApiAnswer, 'status' | 'body'>[] = [];
        for (const query of paths) {
          const { status, body } = await read(query);
          before.push({ status, body });
        }
        {
          const archiving = open.use(await bed.gateway({ environment, projecting: true }));
          await archivedUpTo(bed);
          expect(await archiving.metrics.metrics()).toContain(
            'runledger_gateway_archive_runs_total{service="gateway"} 2',
          );
        }
        await forgetAll(bed.log);
        for (const [at, query] of paths.entries()) expect(await read(query)).toMatchObject(before[at] ?? {});
        expect((await read('', other.key)).status).toBe(404);
        expect((await call(`${reader.api}/run/${others.run_id}`, other.key)).body.status).toBe('success');
        expect((await call(`${reader.api}/run/${aRun(bed.tenant.org_id).run_id}`, admin)).status).toBe(404);
      },
    );
  },
);

it('an archive does not lie in the place of output files, whose age would count', () => {
  const open = (prefix: string): unknown =>
    openArchiveObjects(
      readGatewayConfig({
        RUNLEDGER_SECRET_KEYS: A_SECRET_KEY,
        RUNLEDGER_ARCHIVE: 's3',
        RUNLEDGER_ARCHIVE_S3_PREFIX: prefix,
      }),
      // Nothing is opened.
      { log: undefined as never, logger: silentLogger, now: () => new Date() },
    );
  expect(() => open('outputs/archive/')).toThrow('RUNLEDGER_ARCHIVE_S3_PREFIX');
  expect(() => open('archive/')).toThrow('RUNLEDGER_OUTPUTS_S3_ENDPOINT is not set, and RUNLEDGER_ARCHIVE');
});

import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHealthServer, type CheckOutcome } from '@runledger/service-kit/health-server';
import { createLogger } from '@runledger/service-kit/logger';
import { createMetrics } from '@runledger/service-kit/metrics';
import { describe, expect, it } from 'vitest';
import { ROOT } from './workspaces.ts';

const TOKEN = 'a-token-of-32-characters-or-more';

/** How the health check of an image ends, and what it prints, for a service with the token. */
const healthCheck = async (
  outcome: CheckOutcome,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | string; readonly stdout: string }> => {
  await using server = await openHealthServer({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    checks: { broker: () => outcome },
    metrics: createMetrics('gateway'),
    logger: createLogger({ service: 'gateway', level: 'error', destination: { write: () => {} } }),
    stopping: new AbortController().signal,
  });
  const settings = { RUNLEDGER_HEALTH_PORT: new URL(server.url).port, ...env };
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(ROOT, 'deploy/docker/ask-ready.mjs')],
      { env: settings },
      (error, stdout) => resolve({ status: error?.code ?? 0, stdout }),
    );
  });
};

describe('the health check of the images', () => {
  const missing = { ok: false, why: 'the broker is unavailable' } as const;

  it('needs no token to know whether the service is ready, and then prints which check fails', async () => {
    expect(await healthCheck({ ok: true }, {})).toMatchObject({ status: 0 });
    const unready = await healthCheck(missing, {});
    expect([unready.status, unready.stdout]).toEqual([1, expect.stringContaining('"broker":{"ok":false}')]);
    expect(unready.stdout).not.toContain(missing.why);
  });

  it('prints why, with the token of the service or the file that has it', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-token-'));
    const file = join(folder.path, 'health-token');
    await writeFile(file, `${TOKEN}\n`);
    for (const env of [{ RUNLEDGER_HEALTH_TOKEN_FILE: file }, { RUNLEDGER_HEALTH_TOKEN: TOKEN }])
      expect(await healthCheck(missing, env)).toEqual({
        status: 1,
        stdout: expect.stringContaining(missing.why),
      });
  });
});

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { hasLastingHome } from '../../src/supervision/process-environment.ts';
import type { Isolation } from '../../src/isolation/isolation.ts';
import { halfOf, isolationNamed, isolations, ISOLATION_NAMES, ORG_ID } from '../fixtures/isolations.ts';
import { supervisorsOf } from '../fixtures/marked-processes.ts';
import { openPrograms, temporaryFolder } from '../runners/program/run-a-program.ts';
import { openResidentProgram, type StartedResidentRun } from '../runners/program/run-a-resident-program.ts';

const OTHER = '01920000-0000-7000-8000-0000000000ab';
const MIB = 1024 ** 2;
const never = new AbortController().signal;
const caches = { maxBytes: 64 * MIB };

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

/** Programs keep their caches below the home folder where that stays. */
const hasNone = (isolation: Isolation): boolean => hasLastingHome(isolation, { HOME: '/home/me' }, {});

const shown = async ({
  result,
  lines,
}: ReturnType<Awaited<ReturnType<typeof openPrograms>>>): Promise<string[]> => {
  expect(await result).toMatchObject({ outcome: 'succeeded' });
  return lines.map(({ line }) => line);
};

const foldersIn = (placeFolder: string): string[] => {
  const caches = join(placeFolder, 'caches');
  return existsSync(caches) ? readdirSync(caches) : [];
};

const withCaches = isolations.filter(([, isolation]) => !hasNone(isolation));

describe.each(withCaches)('the cache of a program %s', (_, isolation) => {
  it('has for a run what an earlier one of its deployment left, and nothing of any other', async () => {
    const start = await openPrograms({ isolation, caches });
    const show = 'cat "$XDG_CACHE_HOME"/* 2>/dev/null; true';
    expect(await shown(start('echo kept >"$XDG_CACHE_HOME/file"'))).toEqual([]);
    expect(await shown(start(show, { nth: 1 }))).toEqual(['kept']);
    expect(await shown(start(show, { nth: 2, deployment_id: OTHER }))).toEqual([]);
    expect(await shown(start(show, { nth: 3, org_id: OTHER }))).toEqual([]);
    expect(await shown(start(show, { nth: 4 }))).toEqual(['kept']);
  });

  it('is closed to a program of another organisation that knows where it is', async () => {
    const start = await openPrograms({ isolation, caches });
    const first = start('echo secret >"$XDG_CACHE_HOME/file"; chmod 0777 "$XDG_CACHE_HOME/file"');
    await shown(first);
    const [id = ''] = foldersIn(first.placeFolder);
    const file = join(first.placeFolder, 'caches', id, 'files/file');
    expect(statSync(file).size).toBe(7);
    const script = `cat '${file}'; echo x >'${file}'; ls '${first.placeFolder}/caches'; true`;
    const other = await shown(start(script, { nth: 1, org_id: OTHER }));
    expect(other).not.toContain('secret');
    expect(other).not.toContain(id);
    expect(await shown(start('cat "$XDG_CACHE_HOME/file"', { nth: 2 }))).toEqual(['secret']);
  });
});

/** The same in every isolation. */
describe.each(halfOf(withCaches, 1))('also %s, the cache of a program', (_, isolation) => {
  it('is named by the variables of libraries, and by its own in the log', async () => {
    const start = await openPrograms({ isolation, caches });
    const script =
      'for v in NUMBA_CACHE_DIR MPLCONFIGDIR TRITON_CACHE_DIR TORCHINDUCTOR_CACHE_DIR HF_HOME CUDA_CACHE_PATH TORCH_HOME; do printenv $v; done';
    expect(await shown(start(script))).toEqual(
      ['numba', 'matplotlib', 'triton', 'torchinductor', 'huggingface', 'cuda', 'torch'].map(
        (name) => `$RUNLEDGER_CACHE_DIR/${name}`,
      ),
    );
  });

  it('is for one process at a time, and what was used last is for the next one', async () => {
    const start = await openPrograms({ isolation, caches });
    const first = start('echo first >"$XDG_CACHE_HOME/file"; echo begun; exec sleep 600');
    await until(() => first.lines.length > 0);
    expect(
      await shown(start('ls "$XDG_CACHE_HOME"; echo second >"$XDG_CACHE_HOME/file"', { slot: 1 })),
    ).toEqual([]);
    first.cancel();
    await first.result;
    expect(await shown(start('cat "$XDG_CACHE_HOME/file"', { nth: 1 }))).toEqual(['first']);
    expect(foldersIn(first.placeFolder)).toHaveLength(2);
  });

  it('is what its entry says it is', async () => {
    const env = { NUMBA_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' };
    const script = 'echo $NUMBA_CACHE_DIR $XDG_CACHE_HOME $HF_HOME; printenv MPLCONFIGDIR';
    const program = { command: '/bin/sh', args: ['-c', script], env };
    const start = await openPrograms({ isolation, caches, program });
    expect(await shown(start(''))).toEqual(['/a /b', '$RUNLEDGER_CACHE_DIR/matplotlib']);
  });

  it('is not made for an entry that sets its home folder', async () => {
    const program = {
      command: '/bin/sh',
      args: ['-c', 'printenv XDG_CACHE_HOME; true'],
      env: { HOME: '/' },
    };
    const run = (await openPrograms({ isolation, caches, program }))('');
    expect(await shown(run)).toEqual([]);
    expect(foldersIn(run.placeFolder)).toEqual([]);
  });

  it('goes between runs when the caches are over their limit, the least recently used first', async () => {
    const start = await openPrograms({ isolation, caches: { maxBytes: 3 * MIB, sweepEveryMs: 20 } });
    const fill = 'head -c 2097152 /dev/zero >"$XDG_CACHE_HOME/file"; ls "$XDG_CACHE_HOME"';
    expect(await shown(start(fill))).toEqual(['file']);
    const second = start(
      `${fill}; while [ ! -e "$TMPDIR/end" ]; do read -r line || sleep 0.1; ls "$XDG_CACHE_HOME" | grep -c .; test $((n=n+1)) -gt 20 && exit; done`,
      { nth: 1, deployment_id: OTHER },
    );
    expect(new Set(await shown(second))).toEqual(new Set(['file', '1']));
    await until(() => second.logged.some((fields) => 'of' in fields));
    expect(second.logged).toContainEqual(
      expect.objectContaining({
        org_id: ORG_ID,
        of: expect.stringMatching(/^deployment /),
        bytes: expect.any(Number),
        message: expect.stringContaining('EXECUTOR_CACHE_BYTES'),
      }),
    );
    await until(() => foldersIn(second.placeFolder).length === 1);
    expect(await shown(start('ls "$XDG_CACHE_HOME"', { nth: 2, deployment_id: OTHER }))).toEqual(['file']);
    expect(await shown(start('ls "$XDG_CACHE_HOME"', { nth: 3 }))).toEqual([]);
  });

  it('is emptied between the runs of one deployment that is over the limit alone', async () => {
    const start = await openPrograms({ isolation, caches: { maxBytes: MIB, sweepEveryMs: 20 } });
    const first = start('head -c 2097152 /dev/zero >"$XDG_CACHE_HOME/file"');
    await shown(first);
    await until(() => foldersIn(first.placeFolder).length === 0);
    expect(await shown(start('ls "$XDG_CACHE_HOME"', { nth: 1 }))).toEqual([]);
  });

  it('ends a run that puts more into it than there may be', async () => {
    const start = await openPrograms({ isolation, caches: { maxBytes: MIB } });
    const { result } = start('head -c 2097152 /dev/zero >"$XDG_CACHE_HOME/file"; exec sleep 600');
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'limit_exceeded', message: expect.stringContaining('EXECUTOR_CACHE_BYTES') },
    });
  });
});

describe.each(ISOLATION_NAMES)('a cache that a killed executor left: %s', (name) => {
  it('is that of its deployment after the next start', async ({ skip }) => {
    const placeFolder = temporaryFolder();
    const startAgain = async (closing?: AbortSignal): ReturnType<typeof openPrograms> => {
      const isolation = await isolationNamed(name);
      if (typeof isolation === 'string') return skip(isolation);
      if (hasNone(isolation)) return skip('caches are below the home folder');
      return openPrograms({ isolation, caches, placeFolder, closing });
    };
    const killed = new AbortController();
    const first = (await startAgain(killed.signal))(
      'mkdir "$NUMBA_CACHE_DIR"; echo kept >"$NUMBA_CACHE_DIR/file"',
    );
    await shown(first);
    killed.abort();
    await vi.waitUntil(async () => (await supervisorsOf(first.workFolder)).length === 0, { timeout: 20_000 });
    const start = await startAgain();
    const script = 'cat "$NUMBA_CACHE_DIR/file"; echo more >>"$NUMBA_CACHE_DIR/file"';
    expect(await shown(start(script))).toEqual(['kept']);
    expect(await shown(start('ls "$XDG_CACHE_HOME"', { nth: 1, org_id: OTHER }))).toEqual([]);
  });

  it('serves a resident program of one organisation, also before its first run, and no other one', async ({
    skip,
  }) => {
    const isolation = await isolationNamed(name);
    if (typeof isolation === 'string') return skip(isolation);
    if (hasNone(isolation)) return skip('caches are below the home folder');
    const cachesIn = temporaryFolder();
    const startAgain = async (closing = never): ReturnType<typeof openResidentProgram> => {
      const again = await isolationNamed(name);
      const options = { isolation: typeof again === 'string' ? isolation : again, cachesIn, closing };
      return openResidentProgram(COUNTS_ITS_STARTS, options);
    };
    const startsOf = async ({ result, lines }: StartedResidentRun): Promise<string> => {
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      return lines.map(({ line }) => line).join();
    };
    const killed = new AbortController();
    expect(await startsOf((await startAgain(killed.signal))('any'))).toBe('1');
    killed.abort();
    await vi.waitUntil(async () => (await supervisorsOf(cachesIn)).length === 0, { timeout: 20_000 });
    const start = await startAgain();
    expect(await startsOf(start('any'))).toBe('2');
    expect(await startsOf(start('any', { nth: 1, org_id: OTHER }))).toBe('1');
  });
});

/** It is loaded before its first run, and says in each how often one with its cache was. */
const COUNTS_ITS_STARTS = {
  command: '/bin/sh',
  args: [
    '-c',
    `echo start >>"$XDG_CACHE_HOME/starts"; echo '{"type":"ready"}'
    while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do grep -c start "$XDG_CACHE_HOME/starts"; echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done`,
  ],
  env: {},
  limits: { startTimeoutMs: 60_000, idleTimeoutMs: null, maxRuns: null, preload: true },
} as const;

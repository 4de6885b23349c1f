import { freePort } from '@runledger/local-servers/free-port';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { openComfyui, type ComfyOptions, type ComfyRuns } from './run-comfyui.ts';
import { playing, type Step } from './server/play.ts';

interface OwnOptions extends Omit<ComfyOptions, 'servers'> {
  readonly env?: Readonly<Record<string, string>>;
}

const open = async ({ env = {}, ...options }: OwnOptions = {}): Promise<ComfyRuns> => {
  const port = await freePort();
  const args = [join(import.meta.dirname, 'server', 'main.ts'), String(port)];
  return openComfyui({
    servers: [{ url: `http://127.0.0.1:${port}`, command: process.execPath, args, env }],
    ...options,
  });
};

const DONE: readonly Step[] = [{ text: { text: ['done'] } }];

describe("the executor's own ComfyUI server", () => {
  it('stays warm for the next run', async () => {
    const comfyui = await open();
    const cold = comfyui.start(playing(DONE));
    expect(await cold.result).toMatchObject({ outcome: 'succeeded' });
    const warm = comfyui.start(playing(DONE));
    expect(await warm.result).toMatchObject({ outcome: 'succeeded' });
    expect(cold.begun[0]).toBeGreaterThan(0);
    expect(warm.begun).toEqual([0]);
  });

  it('is started again after it ended in a run, which fails at its node', async () => {
    const comfyui = await open();
    const run = comfyui.start(playing([{ print: 'bad' }, { progress: 0.5 }, { wait: 200 }, { crash: true }]));
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'crashed',
        node: '1',
        message: expect.stringMatching(/^At Node 1 .*: ComfyUI ended with exit code 9/),
      },
    });
    expect(run.lines).toContainEqual({ stream: 'stdout', line: 'bad' });
    expect(await comfyui.start(playing(DONE)).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('is killed and started again when a node does not heed an interrupt', async () => {
    const comfyui = await open({ graceMs: 300 });
    const run = comfyui.start(playing([{ progress: 0.5 }, { wait: 'for ever' }]));
    await vi.waitUntil(() => run.reports.some(({ progress }) => progress > 0), { timeout: 20_000 });
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: true });
    expect(await comfyui.start(playing(DONE)).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('is killed and started again when its worker is dead', async () => {
    const comfyui = await open({ silenceS: 1, graceMs: 300 });
    const run = comfyui.start(playing([{ progress: 0.5 }, { die: true }]));
    expect(await run.result).toMatchObject({
      error: { kind: 'crashed', message: expect.stringContaining('It is started again') },
    });
    expect(await comfyui.start(playing(DONE)).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('shows that it is loading, with what it writes meanwhile', async () => {
    const port = await freePort();
    const script = 'echo 2 nodes; exec "$@"';
    const args = [
      '-c',
      script,
      'sh',
      process.execPath,
      join(import.meta.dirname, 'server', 'main.ts'),
      String(port),
    ];
    const url = `http://127.0.0.1:${port}`;
    const run = (await openComfyui({ servers: [{ url, command: '/bin/sh', args }] })).start(playing(DONE));
    expect(await run.result).toMatchObject({ outcome: 'succeeded' });
    expect(run.reports[0]).toEqual({ progress: 0, live_status: 'loading ComfyUI' });
    expect(run.lines).toContainEqual({ stream: 'stdout', line: '2 nodes' });
  });

  it('keeps the values to itself that its operator set for it', async () => {
    const comfyui = await open({ env: { HF_TOKEN: 'hf_12345' } });
    const run = comfyui.start(
      playing([{ print: 'with hf_12345' }, { say: 'or hf_12345' }, { fail: 'hf_12345' }]),
    );
    expect(await run.result).toMatchObject({ error: { message: expect.stringContaining(': $HF_TOKEN') } });
    expect(run.lines).toContainEqual({ stream: 'stdout', line: 'with $HF_TOKEN' });
    expect(run.lines).toContainEqual({ stream: 'stdout', line: 'or $HF_TOKEN' });
    expect(JSON.stringify([run.lines, await run.result])).not.toContain('hf_12345');
  });

  it('fails the run, with its last lines in the log, when it does not come up', async () => {
    const script = 'echo "no module named torch" >&2; exit 3';
    const url = `http://127.0.0.1:${await freePort()}`;
    const comfyui = await openComfyui({ servers: [{ url, command: '/bin/sh', args: ['-c', script] }] });
    const run = comfyui.start(playing(DONE));
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'setup_failed',
        message: expect.stringContaining('ended before it was ready with exit code 3'),
      },
    });
    expect(run.lines).toContainEqual({ stream: 'stderr', line: 'no module named torch' });
  });
});

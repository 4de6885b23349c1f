import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ORG_ID, OTHER_ORG_ID } from '../../fixtures/isolations.ts';
import { cogRunnerType } from '../../../src/runners/cog/cog-runner-type.ts';
import { doing, foreignServer, openCog, ownServer } from './run-cog.ts';
import { dataUrl } from './server/steps.ts';

const WAITS = doing({ print: 'step 1/2' }, { wait: 'for a cancel' });
const WORKS = doing({ output: 'done' });
const DONE = { outcome: 'succeeded', data: { text: ['done'] } };

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

describe('a prediction', () => {
  it.each([false, true])('executes once, although its state is asked for (schema: %s)', async (hasSchema) => {
    const server = await foreignServer({ hasSchema });
    const { start } = await openCog({ models: { painter: server } });
    const look = { wait: 'for a look' } as const;
    const run = start(doing({ print: 'step 1/2' }, look, look, look, { output: 'done' }));
    expect(await run.result).toMatchObject(DONE);
    expect(run.reports).toEqual([{ progress: 0.5, live_status: 'step 1/2' }]);
    expect(server.executed).toHaveLength(1);
  });

  it('gets the inputs of the version, and over them those of the run', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const workflow = { input: { steps: [{ echo: true }], size: 1, style: 'oil' } };
    const { result } = start(workflow, { inputs: { size: 2 } });
    expect(await result).toMatchObject({ data: { text: [JSON.stringify({ size: 2, style: 'oil' })] } });
  });

  it('gets a text as it is, also when it is the name of an input file', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const { result } = start(doing({ echo: true }), {
      inputs: { picture: 'fox.png', caption: 'fox.png' },
      inputFiles: { 'fox.png': 'a fox' },
      fileInputs: ['picture'],
    });
    const echoed = { picture: dataUrl('image/png', 'a fox'), caption: 'fox.png' };
    expect(await result).toMatchObject({ data: { text: [JSON.stringify(echoed)] } });
  });

  it('gets and leaves files of many megabytes', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const content = 'picture '.repeat(2_000_000);
    const run = start(doing({ copy: 'picture', to: 'copy' }), {
      inputs: { picture: 'picture.png' },
      inputFiles: { 'picture.png': content },
      fileInputs: ['picture'],
    });
    expect(await run.result).toMatchObject({ files: [{ filename: 'copy', bytes: content.length }] });
    const hash = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
    expect(hash(readFileSync(join(run.outputDir, 'copy')))).toBe(hash(content));
  });

  it('puts out one text when its schema says that it gives one in pieces, also a long one', async () => {
    const iterator = { type: 'array', items: { type: 'string' }, 'x-cog-array-type': 'iterator' };
    const output = { ...iterator, 'x-cog-array-display': 'concatenate' };
    const joining = await openCog({ models: { writer: await foreignServer({ output }) } });
    const pieces = Array.from({ length: 60_000 }, (_, index) => `w${index} `);
    const { result } = joining.start(doing({ output: pieces }));
    expect(await result).toMatchObject({ outcome: 'succeeded', data: { text: [pieces.join('')] } });
    const none = joining.start(doing({ output: [] }));
    expect(await none.result).toMatchObject({ outcome: 'succeeded', data: { text: [''] } });
    for (const options of [{ output: iterator }, {}]) {
      const listing = await openCog({ models: { writer: await foreignServer(options) } });
      expect(await listing.start(doing({ output: ['a', 'b'] })).result).toMatchObject({
        data: { text: ['a', 'b'] },
      });
    }
  });

  it('gets the files of a list as data URLs from a server that runs anyway', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const { result } = start(doing({ echo: true }), {
      inputs: { many: ['many/a.png', 'many/b.png'], one: ['one/a.png'], none: [] },
      inputFiles: { 'many/a.png': 'a', 'many/b.png': 'bcde', 'one/a.png': '' },
      fileInputs: ['many', 'one', 'none'],
    });
    const [a, b, empty] = ['a', 'bcde', ''].map((content) => dataUrl('image/png', content));
    expect(await result).toMatchObject({
      data: { text: [JSON.stringify({ many: [a, b], one: [empty], none: [] })] },
    });
  });

  it('fails when it makes more files than a run may have', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const { result } = start(doing({ output: Array.from({ length: 501 }, () => dataUrl('image/png', 'x')) }));
    expect(await result).toMatchObject({ outcome: 'failed', error: { kind: 'output_too_large' } });
  });

  it('is cancelled while its connection is held open, and the server is free for the next one', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    const run = start(WAITS);
    await until(() => run.reports.length > 0);
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: false });
    expect(await start(WORKS).result).toMatchObject(DONE);
  });

  it('fails when its connection breaks, and is not sent again', async () => {
    const server = await foreignServer();
    const { start } = await openCog({ models: { painter: server } });
    const run = start(WAITS);
    await until(() => run.reports.length > 0);
    server.cut();
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'crashed', retryable: true },
    });
    expect(server.executed).toHaveLength(1);
  });
});

describe('a server that runs anyway', () => {
  it('is waited for while it is set up, and this is the time of loading', async () => {
    const server = await foreignServer();
    server.become('STARTING');
    const { start } = await openCog({ models: { painter: server } });
    const run = start(WORKS);
    await until(() => run.reports.length > 0);
    server.become('READY');
    expect(await run.result).toMatchObject(DONE);
    expect(run.reports[0]).toEqual({ progress: 0, live_status: 'loading painter' });
    expect(run.begun[0]).toBeGreaterThan(0);
    const warm = start(WORKS);
    await warm.result;
    expect(warm.begun).toEqual([0]);
  });

  it('fails a run with the end of what its setup printed', async () => {
    const server = await foreignServer();
    server.become('SETUP_FAILED');
    const { start } = await openCog({ models: { painter: server } });
    expect(await start(WORKS).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'setup_failed', message: expect.stringContaining('no weights at /weights') },
    });
  });

  it('is waited for while it executes something else, as long as a setup may take', async () => {
    const server = await foreignServer();
    const release = server.occupy();
    const { start } = await openCog({ models: { painter: server }, startTimeoutS: 1 });
    expect(await start(WORKS).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'setup_failed', message: expect.stringContaining('somebody else') },
    });
    const run = start(WORKS);
    await until(() => run.reports.length > 0);
    release();
    expect(await run.result).toMatchObject(DONE);
    expect(run.begun).toEqual([0]);
  });

  it('executes the runs of several slots one after the other', async () => {
    const server = await foreignServer();
    const { start } = await openCog({ models: { painter: server }, slots: 2 });
    const one = start(WAITS);
    await until(() => one.reports.length > 0);
    const other = start(WORKS, { slot: 1 });
    one.cancel();
    expect(await other.result).toMatchObject(DONE);
    expect(server.executed).toHaveLength(2);
  });

  it('has to be started by its operator when its worker crashed', async () => {
    const { start } = await openCog({ models: { painter: await foreignServer() } });
    expect(await start(doing({ crash: 'worker' })).result).toMatchObject({ error: { kind: 'crashed' } });
    expect(await start(WORKS).result).toMatchObject({
      error: { kind: 'setup_failed', message: expect.stringContaining('start it again') },
    });
  });

  it('is not there', async () => {
    const models = { painter: { url: 'http://127.0.0.1:1' } };
    const { start } = await openCog({ models, startTimeoutS: 1 });
    expect(await start(WORKS).result).toMatchObject({
      error: { kind: 'setup_failed', message: expect.stringContaining('does not answer') },
    });
  });
});

describe('a server of the executor', () => {
  it('gets files under their own names, also those of a list', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    const run = {
      inputs: {
        data: 'voice.npz',
        many: ['many/a b.jsonl', 'many/größe.safetensors'],
        none: [],
        caption: 'voice.npz',
      },
      inputFiles: { 'voice.npz': 'one', 'many/a b.jsonl': 'two', 'many/größe.safetensors': '' },
      fileInputs: ['data', 'many', 'none'],
    };
    const echoed = {
      data: dataUrl('voice.npz', 'one'),
      many: [dataUrl('a b.jsonl', 'two'), dataUrl('größe.safetensors', '')],
      none: [],
      caption: 'voice.npz',
    };
    expect(await start(doing({ echo: true }), run).result).toMatchObject({
      data: { text: [JSON.stringify(echoed)] },
    });
  });

  it('gives its files under the names that the model gave them, in the order of its output', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    const one = start(doing({ put: '/tmp/tmp1/lora.safetensors' }));
    expect(await one.result).toMatchObject({ files: [{ filename: 'lora.safetensors', subfolder: '' }] });
    const list = [
      '/tmp/2/größe #1.npz',
      '/tmp/1/a.png',
      '/tmp/2/a.png',
      '/tmp/3/A.png',
      '/tmp/2/..',
      '/tmp/1/b',
    ];
    const many = start(doing({ put: list }));
    const names = ['größe #1.npz', 'a.png', 'a-2.png', 'A-3.png', 'file', 'b'];
    expect(await many.result).toMatchObject({ files: names.map((filename) => ({ filename })) });
    expect(readFileSync(join(many.outputDir, 'a-2.png'), 'utf8')).toBe('a.png');
  });

  it('gives files under their places that the model made as data URLs, or has in an object', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    const url = dataUrl('application/x-safetensors', 'weights');
    const object = start(doing({ output: { weights: url } }));
    expect(await object.result).toMatchObject({ files: [{ filename: 'weights.safetensors' }] });
    const made = start(doing({ output: [url, url] }));
    expect(await made.result).toMatchObject({
      files: [{ filename: 'output.0.safetensors' }, { filename: 'output.1.safetensors' }],
    });
  });

  it('gives a file in an object under the name that the model wrote it under, and only in that prediction', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    const output = {
      weights: dataUrl('', 'weights'),
      masks: { left: dataUrl('', 'left'), none: dataUrl('', 'x') },
    };
    const run = start(
      doing(
        { write: 'tmp1/lora.safetensors', content: 'weights' },
        { write: 'tmp2/one.npz', content: 'left' },
        { output },
      ),
    );
    expect(await run.result).toMatchObject({
      outcome: 'succeeded',
      files: [
        { filename: 'lora.safetensors', subfolder: '' },
        { filename: 'one.npz', subfolder: 'masks' },
        { filename: 'none', subfolder: 'masks' },
      ],
    });
    expect(readFileSync(join(run.outputDir, 'lora.safetensors'), 'utf8')).toBe('weights');
    expect(readFileSync(join(run.outputDir, 'masks/one.npz'), 'utf8')).toBe('left');
    expect(await start(doing({ output: { weights: output.weights } })).result).toMatchObject({
      files: [{ filename: 'weights' }],
    });
  });

  it.each([
    ['alone', '/gone/lora.safetensors'],
    ['in a list', ['/tmp/a.npz', '/gone/lora.safetensors', '/tmp/b.npz']],
  ])('fails a run whose model returned a file that is not there, %s', async (_where, put) => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    const { result } = start(doing({ put }));
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'invalid_output', message: expect.stringContaining('/gone/lora.safetensors') },
    });
    expect(await start(WORKS).result).toMatchObject(DONE);
  });

  it('names files by their places when its operator has it log less', async () => {
    const { start } = await openCog({ models: { painter: await ownServer({ COG_LOG_LEVEL: 'info' }) } });
    const { result } = start(doing({ put: '/tmp/lora.safetensors' }));
    expect(await result).toMatchObject({ files: [{ filename: 'output.bin' }] });
  });

  it('shows what child processes of the model print, and not what the server itself logs', async () => {
    const { start } = await openCog({ models: { painter: await ownServer({ HF_TOKEN: 'hf_12345' }) } });
    await start(WORKS).result;
    const run = start(
      doing({ child: 'frame=1 hf_12345' }, { print: 'saved' }, { child: '' }, { child: 'last' }),
    );
    await run.result;
    expect(run.lines.map(({ line }) => line).toSorted()).toEqual(['frame=1 $HF_TOKEN', 'last', 'saved']);
  });

  it('shows none of that when it has had runs of several organisations', async () => {
    const shared = { ...(await ownServer()), shared: true };
    const { start } = await openCog({ models: { painter: shared } });
    const shown: string[][] = [];
    for (const org_id of [ORG_ID, OTHER_ORG_ID, ORG_ID]) {
      const run = start(doing({ child: 'of somebody' }, { print: 'saved' }), { org_id });
      await run.result;
      shown.push(run.lines.map(({ line }) => line).toSorted());
    }
    expect(shown).toEqual([['of somebody', 'saved'], ['saved'], ['saved']]);
  });

  it('gets files also when it has a network of its own, or a proxy', async () => {
    const unreachable = await ownServer({ LOOPBACK: 'none' });
    const { start } = await openCog({ models: { painter: unreachable } });
    const run = { inputs: { data: 'a.png' }, inputFiles: { 'a.png': 'one' }, fileInputs: ['data'] };
    expect(await start(doing({ echo: true }), run).result).toMatchObject({
      data: { text: [JSON.stringify({ data: dataUrl('image/png', 'one') })] },
    });
    const env = { HTTP_PROXY: 'http://proxy.example:3128', NO_PROXY: 'models.example' };
    const proxied = await openCog({ models: { painter: await ownServer(env) } });
    expect(await proxied.start(doing({ environment: 'no_proxy' })).result).toMatchObject({
      data: { text: ['models.example,127.0.0.1'] },
    });
  });

  it('is started again when its worker crashed', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    expect(await start(doing({ crash: 'worker' })).result).toMatchObject({ error: { kind: 'crashed' } });
    expect(await start(WORKS).result).toMatchObject(DONE);
  });

  it('says how it ended', async () => {
    const { start } = await openCog({ models: { painter: await ownServer() } });
    expect(await start(doing({ crash: 'server' })).result).toMatchObject({
      error: { kind: 'crashed', message: 'The server of the Cog model painter ended with exit code 9.' },
    });
  });

  it('shows why it did not start', async () => {
    const entry = {
      url: 'http://127.0.0.1:1',
      command: '/bin/sh',
      args: ['-c', 'echo no weights >&2; exit 3'],
    };
    const { start } = await openCog({ models: { painter: entry } });
    const run = start(WORKS);
    expect(await run.result).toMatchObject({
      error: { kind: 'setup_failed', message: expect.stringContaining('with exit code 3') },
    });
    expect(run.lines).toContainEqual({ stream: 'stderr', line: 'no weights' });
  });

  it('keeps the values to itself that its operator set for it', async () => {
    const { start } = await openCog({ models: { painter: await ownServer({ HF_TOKEN: 'hf_12345' }) } });
    const run = start(
      doing({ print: 'with hf_12345' }, { wait: 'for a look' }, { wait: 'for a look' }, { fail: 'hf_12345' }),
    );
    expect(await run.result).toMatchObject({ error: { message: 'ValueError: $HF_TOKEN' } });
    expect(run.lines).toContainEqual({ stream: 'stdout', line: 'with $HF_TOKEN' });
  });

  it('keeps them to itself when it does not start', async () => {
    const script = 'echo "with $HF_TOKEN"; exit 3';
    const entry = { url: 'http://127.0.0.1:1', command: '/bin/sh', args: ['-c', script] };
    const { start } = await openCog({ models: { painter: { ...entry, env: { HF_TOKEN: 'hf_12345' } } } });
    const run = start(WORKS);
    await run.result;
    expect(run.lines).toEqual([{ stream: 'stdout', line: 'with $HF_TOKEN' }]);
  });
});

describe('EXECUTOR_COG', () => {
  const own = (url: string): object => ({ url, command: '/bin/sh' });

  it.each([
    ['[]', 'is not a JSON object'],
    ['{"a/b": {"url": "http://127.0.0.1:5000"}}', 'whose name is not'],
    ['{"a": {"url": "127.0.0.1:5000"}}', 'whose url is not'],
    ['{"a": {"url": "http://127.0.0.1:5000", "organisations": ["acme"]}}', 'whose organisations are not'],
    ['{"a": {"url": "http://127.0.0.1:5000", "command": "no-such-command"}}', 'is in no folder of PATH'],
    [
      '{"a": {"url": "http://127.0.0.1:5000", "command": "/bin/sh", "env": {"PORT": "1"}}}',
      'whose env has PORT',
    ],
    [
      JSON.stringify({ a: own('http://127.0.0.1:5000'), b: own('http://127.0.0.1:5001') }),
      'whose ports overlap',
    ],
  ])('refuses %s', async (setting, wrong) => {
    const settings = { EXECUTOR_COG: setting, EXECUTOR_COG_START_TIMEOUT_S: 1 };
    const slots = [0, 1].map((index) => ({ index, gpu: 'CPU', device: '' }) as const);
    const read = await cogRunnerType.configure(settings, { PATH: '/bin', slots });
    expect(read).toMatchObject({ problems: [{ wrong: expect.stringContaining(wrong) }] });
  });

  it('registers each model, and lets two of them have the same port', async () => {
    const organisations = ['01920000-0000-7000-8000-00000000000a'];
    const models = { a: own('http://127.0.0.1:5000'), b: { ...own('http://127.0.0.1:5000'), organisations } };
    const settings = { EXECUTOR_COG: JSON.stringify(models), EXECUTOR_COG_START_TIMEOUT_S: 1 };
    const read = await cogRunnerType.configure(settings, { PATH: '/bin', slots: [] });
    expect(read).toMatchObject({
      capabilities: {
        programs: ['runner:cog:a', 'runner:cog:b'],
        dedicated: { 'runner:cog:b': organisations },
      },
    });
  });
});

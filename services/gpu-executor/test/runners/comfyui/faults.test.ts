import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../program/run-a-program.ts';
import type { StartedRun } from '../runner-conformance.ts';
import { openComfyui, type ComfyOptions, type ComfyRun } from './run-comfyui.ts';
import { playing, type Step } from './server/play.ts';
import { startTestServer, type TestServer } from './server/test-server.ts';

const PLAY = { filename_prefix: 'cats/cat' };

interface Opened {
  readonly server: TestServer;
  readonly start: (steps: readonly Step[], run?: ComfyRun) => StartedRun;
}

const open = async ({
  outputFolder,
  ...options
}: Omit<ComfyOptions, 'servers'> & { outputFolder?: string } = {}): Promise<Opened> => {
  const server = await startTestServer({ ...(outputFolder !== undefined && { outputFolder }) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const comfyui = await openComfyui({ servers: [{ url: server.url }], ...options });
  return { server, start: (steps, run) => comfyui.start(playing(steps, PLAY), run) };
};

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

const EXTERNAL = 'ComfyUIDeployExternalImage';

const SLOW: readonly Step[] = [
  { progress: 0.5 },
  { wait: 1_500 },
  { progress: 0.75 },
  { file: 'a.png', content: 'a' },
];

describe('a prompt', () => {
  it('is sent once when its answer is lost', async () => {
    const { server, start } = await open();
    server.faults.lostAnswers = 1;
    expect(await start([{ text: { text: ['done'] } }]).result).toMatchObject({
      nodes: [{ data: { text: ['done'] } }],
    });
    expect(server.prompts).toHaveLength(1);
  });

  it('is sent once when it is queued although the answer is an error', async () => {
    const { server, start } = await open();
    server.faults.falseErrors = 1;
    expect(await start([{ text: { text: ['done'] } }]).result).toMatchObject({ outcome: 'succeeded' });
    expect(server.prompts).toHaveLength(1);
  });

  it('has an id in lower case, and a client of its own', async () => {
    const { server, start } = await open();
    await start([]).result;
    const [{ prompt_id, client_id } = { prompt_id: '', client_id: '' }] = server.prompts;
    expect(prompt_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(client_id).toMatch(/^runledger\.box\.[0-9a-f-]{36}-1$/);
  });

  it('fails with what the server says when it is refused', async () => {
    const { server, start } = await open();
    const node_errors = { '1': { errors: [{ message: 'Value not in list', details: 'ckpt_name' }] } };
    server.faults.refusal = { status: 400, text: JSON.stringify({ error: { message: 'no' }, node_errors }) };
    expect(await start([]).result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'invalid_inputs',
        node: '1',
        message: expect.stringContaining('Value not in list (ckpt_name)'),
      },
    });
  });

  it('is stopped, and fails, when the server accepts a part of it', async () => {
    const { server, start } = await open();
    server.faults.nodeErrors = { '9': { errors: [{ message: 'Value -1 smaller than min of 1' }] } };
    const { result } = start([{ wait: 'for an interrupt' }]);
    expect(await result).toMatchObject({ error: { kind: 'invalid_inputs', node: '9' } });
    expect(server.engine().running()).toBeNull();
  });

  it('does not begin without the classes of its nodes', async () => {
    const { server, start } = await open();
    server.faults.missingNodes.add('SaveImage');
    const { result } = start([]);
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'not_runnable',
        node: '1',
        retryable: false,
        message: expect.stringContaining('Node 1 "Play" (SaveImage)'),
      },
    });
    expect(server.prompts).toEqual([]);
  });

  it('leaves no entry in the history', async () => {
    const { server, start } = await open();
    await start([{ fail: 'no' }]).result;
    expect([...server.engine().history]).toEqual([]);
  });
});

describe('the connection', () => {
  it('is opened again in the middle of a run, which goes on', async () => {
    const { server, start } = await open();
    const run = start(SLOW);
    await until(() => run.reports.length > 0);
    server.dropSockets();
    expect(await run.result).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: 'a.png', subfolder: 'cats' }],
    });
    expect(run.reports.map(({ progress }) => progress)).toEqual([0.5, 0.75, 1]);
  });

  it('is not needed for the end', async () => {
    const { server, start } = await open();
    server.faults.isMute = true;
    expect(await start([{ file: 'a.png', content: 'a' }]).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('may bring what is no message, of others, or half of one', async () => {
    const { server, start } = await open();
    const run = start(SLOW);
    await until(() => run.reports.length > 0);
    for (const message of [
      '',
      '{"type": "progress_state", "data": {"no',
      '[]',
      Buffer.from([0, 0, 0, 4, 0, 0]),
    ])
      server.tellEverybody(message);
    const foreign = { type: 'execution_error', data: { prompt_id: 'another', node_id: '1' } };
    server.tellEverybody(JSON.stringify(foreign));
    expect(await run.result).toMatchObject({ outcome: 'succeeded' });
  });

  it('is closed after the run', async () => {
    const { server, start } = await open();
    await start([]).result;
    await until(() => server.sockets() === 0);
    expect(server.sockets()).toBe(0);
  });
});

describe('a server', () => {
  it('may not answer for a while', async () => {
    const { server, start } = await open();
    const run = start(SLOW);
    await until(() => run.reports.length > 0);
    server.faults.isDown = true;
    setTimeout(() => (server.faults.isDown = false), 2_500);
    expect(await run.result).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'a.png' }] });
  });

  it('fails the run when it does not answer any more', async () => {
    const { server, start } = await open({ startTimeoutS: 1 });
    const run = start([{ progress: 0.5 }, { wait: 'for ever' }]);
    await until(() => run.reports.length > 0);
    server.faults.isDown = true;
    expect(await run.result).toMatchObject({ error: { kind: 'crashed', node: '1' } });
  });

  it('fails the run when it was started again, and executes the next one', async () => {
    const { server, start } = await open();
    const run = start([{ progress: 0.5 }, { wait: 'for ever' }]);
    await until(() => run.reports.length > 0);
    server.restart();
    expect(await run.result).toMatchObject({
      error: { kind: 'crashed', message: expect.stringContaining('was started again'), retryable: true },
    });
  });

  it('has told of the end when somebody clears its history', async () => {
    const { server, start } = await open();
    server.engine().history.set = () => server.engine().history;
    expect(await start([{ text: { text: ['done'] } }]).result).toMatchObject({
      outcome: 'succeeded',
      nodes: [{ data: { text: ['done'] } }],
    });
  });

  it('counts as dead when it answers, and gives no sign that it works', async () => {
    const { start } = await open({ silenceS: 1, graceMs: 300 });
    expect(await start([{ progress: 0.5 }, { die: true }]).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'crashed', node: '1', message: expect.stringContaining('EXECUTOR_COMFYUI_SILENCE_S') },
    });
  });

  it('is the one that the machine names, if it names one', async () => {
    const { server, start } = await open();
    const elsewhere = { kind: 'comfyui', url: 'http://169.254.169.254/' } as const;
    expect(await start([], { choice: elsewhere }).result).toMatchObject({ outcome: 'not_runnable' });
    expect(await start([], { slot: 0, choice: { kind: 'comfyui', url: server.url } }).result).toMatchObject({
      outcome: 'succeeded',
    });
  });
});

describe('a cancel', () => {
  it('is repeated until it is heeded', async () => {
    const { server, start } = await open();
    server.faults.lostInterrupts = 3;
    const run = start([{ progress: 0.5 }, { wait: 'for an interrupt' }]);
    await until(() => run.reports.length > 0);
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: false });
    expect(server.requests.filter((request) => request === 'POST /interrupt')).toHaveLength(4);
  });

  it('takes a run from the queue that waits behind another one, and leaves that one alone', async () => {
    const { server, start } = await open();
    const foreign = { number: 0, prompt_id: 'foreign', client_id: 'somebody' };
    server.engine().add({ ...foreign, prompt: playing([{ wait: 'for an interrupt' }]) as never });
    await until(() => server.engine().running() !== null);
    const run = start([]);
    await until(() => server.engine().pending.length > 0);
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: false });
    expect(server.engine().pending).toEqual([]);
    expect(server.engine().running()?.prompt_id).toBe('foreign');
    expect(server.requests).not.toContain('POST /interrupt');
  });

  it('by somebody else fails the run', async () => {
    const { server, start } = await open();
    const run = start([{ progress: 0.5 }, { wait: 'for an interrupt' }]);
    await until(() => run.reports.length > 0);
    server.engine().interrupt();
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'execution_error', message: expect.stringContaining('interrupted') },
    });
  });
});

describe('inputs', () => {
  it('are written into the nodes that the version names', async () => {
    const { server, start } = await open();
    const inputTargets = [{ name: 'seed', node: '1', field: 'noise' }];
    const { result, lines } = start([], { inputs: { seed: 9 }, inputTargets });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(server.prompts[0]?.prompt['1']?.inputs['noise']).toBe(9);
    expect(lines).toEqual([]);
  });
});

describe('beside its nodes a prompt has', () => {
  const workflow = playing([{ text: { text: ['done'] } }]);
  const editor = { nodes: [{ id: 1, type: 'SaveImage' }], links: [] };

  it('the workflow of the editor, where the version has it', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const body = { prompt: workflow, extra_data: { extra_pnginfo: { workflow: editor } } };
    expect(await comfyui.start(body).result).toMatchObject({ outcome: 'succeeded' });
    expect(server.prompts[0]).toMatchObject({ extra_data: { extra_pnginfo: { workflow: editor } } });
    expect(Object.keys(server.prompts[0]?.prompt ?? {})).toEqual(['1']);
  });

  it('the key for API nodes, from a secret input, and nowhere else', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const inputs = { api_key_comfy_org: 'comfyui-12345' };
    const run = comfyui.start(workflow, { inputs, secretInputs: ['api_key_comfy_org'] });
    expect(await run.result).toMatchObject({ outcome: 'succeeded' });
    expect(server.prompts[0]?.extra_data).toEqual(inputs);
    expect(
      JSON.stringify([await run.result, run.lines, run.logged, server.prompts[0]?.prompt]),
    ).not.toContain('comfyui-12345');
    expect(run.lines).toEqual([]);
  });

  it('no key that everybody may read', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const result = await comfyui.start(workflow, { inputs: { api_key_comfy_org: 'comfyui-12345' } }).result;
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'invalid_inputs', message: expect.stringContaining('declares it as secret') },
    });
    expect(server.prompts).toEqual([]);
  });
});

describe('external nodes', () => {
  const external = (kind: string, inputs: object = {}): unknown =>
    playing(
      [{ copy: 'copy' }],
      { input_id: 'photo', default_value: 'white', ...inputs },
      { class_type: `ComfyUIDeployExternal${kind}` },
    );
  const red = {
    inputs: { photo: 'red fox.png' },
    inputFiles: { 'red fox.png': 'red' },
    fileInputs: ['photo'],
  };

  it.each(['Image', 'ImageAlpha', 'Video', 'File', 'ImageBatch', 'Audio'])(
    'of class %s get the file of the run, and not their default',
    async (kind) => {
      const { server } = await open();
      const comfyui = await openComfyui({ servers: [{ url: server.url }] });
      const { result, outputDir, lines } = comfyui.start(external(kind), red);
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      expect(readFileSync(join(outputDir, 'copy'), 'utf8')).toBe('red');
      expect(lines).toEqual([]);
      // A file that its node fetches is not kept on the server too.
      expect(server.inputFiles.size).toBe(kind === 'Audio' ? 1 : 0);
    },
  );

  it('get a list of files as a batch, in its order', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const run = {
      inputs: { photo: ['b.png', 'a.png'] },
      inputFiles: { 'a.png': 'A', 'b.png': 'B' },
      fileInputs: ['photo'],
    };
    const { result, outputDir } = comfyui.start(external('ImageBatch'), run);
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(readFileSync(join(outputDir, 'copy'), 'utf8')).toBe('BA');
  });

  const NO_PICTURE = { 'red.png': 'red', 'note.png': 'not a picture', 'two.zip': 'not a picture but two' };

  it.each([
    ['Image', 'note.png'],
    ['ImageAlpha', 'note.png'],
    ['ImageBatch', ['red.png', 'note.png']],
    ['Image', 'two.zip'],
  ])(
    'of class %s fail the run before it begins when the server cannot read a picture: %s',
    async (kind, photo) => {
      const { server } = await open();
      const comfyui = await openComfyui({ servers: [{ url: server.url }] });
      const run = { inputs: { photo }, inputFiles: NO_PICTURE, fileInputs: ['photo'] };
      const name = [photo].flat().at(-1);
      expect(await comfyui.start(external(kind), run).result).toMatchObject({
        outcome: 'failed',
        error: {
          kind: 'invalid_inputs',
          node: '1',
          message: expect.stringContaining(`The file ${name} of the input "photo" is not a picture`),
        },
      });
      expect(server.prompts).toEqual([]);
      // Nor is it kept there: the server empties that folder.
      expect(server.inputFiles.size).toBe(0);
    },
  );

  it('are not refused a picture that is no JPEG because of its size', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const run = { ...red, inputFiles: { 'red fox.png': 'a picture, too wide' } };
    const { result, outputDir } = comfyui.start(external('Image'), run);
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(readFileSync(join(outputDir, 'copy'), 'utf8')).toBe('a picture, too wide');
  });

  it('are not refused a file that the server cannot be asked about', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const run = { inputs: { photo: ['two.zip'] }, inputFiles: NO_PICTURE, fileInputs: ['photo'] };
    await comfyui.start(external('ImageBatch'), run).result;
    expect(String(server.prompts[0]?.prompt['1']?.inputs['images'])).toMatch(/\/two\.zip"\]$/);
  });

  it('fail the run when one of several files was not fetched', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const run = { inputs: { photo: ['red.png', 'two.zip', 'red2.png'] }, fileInputs: ['photo'] };
    const inputFiles = { ...NO_PICTURE, 'red2.png': 'red' };
    expect(await comfyui.start(external('ImageBatch'), { ...run, inputFiles }).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'input_unavailable', message: expect.stringContaining('did not fetch red2.png') },
    });
  });

  it('that keep a file need not fetch it again', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const workflow = playing(
      [{ text: { text: ['kept'] } }],
      { input_id: 'photo' },
      { class_type: 'ComfyUIDeployExternalLora' },
    );
    expect(await comfyui.start(workflow, red).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('name the input that they could not read, when the next node fails for it', async () => {
    const { server } = await open();
    server.faults.missingNodes.add('PreviewAny');
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const sound = {
      class_type: 'ComfyUIDeployExternalAudio',
      inputs: { input_id: 'photo', default_value: ['9', 0] },
    };
    const steps = [{ fail: "'NoneType' object is not subscriptable" }];
    const workflow = { '1': sound, '2': { class_type: 'SaveAudio', inputs: { audio: ['1', 0], steps } } };
    expect(await comfyui.start(workflow, red).result).toMatchObject({
      outcome: 'failed',
      error: { node: '2', message: expect.stringContaining('cannot read the input "photo"') },
    });
    expect(Object.keys(server.prompts[0]?.prompt['1']?.inputs ?? {})).not.toContain('default_value');
  });

  const soundOf = (kind: string, steps: readonly Step[]): object => ({
    '1': { class_type: `ComfyUIDeployExternal${kind}`, inputs: { input_id: 'photo' } },
    // It goes on without its input.
    '2': { class_type: 'SaveVideo', inputs: { optional: ['1', 0], steps } },
  });
  const unreadable = { ...red, inputFiles: { 'red fox.png': 'not a picture' } };

  it.each([
    ['Audio', unreadable],
    ['EXR', unreadable],
    ['Image', { inputs: { photo: 'data:image/png;base64,bm90' } }],
    ['File', { inputs: { photo: 'http://127.0.0.1:9/photo.png' } }],
  ])('of class %s fail the run that would go on without their input, and stop it', async (kind, run) => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const { result } = comfyui.start(soundOf(kind, [{ wait: 'for an interrupt' }]), run);
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'invalid_inputs',
        node: '1',
        message: expect.stringContaining('ComfyUI cannot read the input "photo"'),
      },
    });
    expect(server.engine().running()).toBeNull();
    expect([...server.engine().history]).toEqual([]);
  });

  it('fail such a run also when it has ended before that is heard', async () => {
    const { server } = await open();
    server.faults.isMute = true;
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const { result } = comfyui.start(soundOf('Audio', [{ text: { text: ['silent'] } }]), unreadable);
    expect(await result).toMatchObject({ outcome: 'failed', error: { kind: 'invalid_inputs', node: '1' } });
  });

  it('that have their input leave no trace of the question in the outputs', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const result = await comfyui.start(soundOf('Audio', [{ text: { text: ['loud'] } }]), red).result;
    expect(result).toMatchObject({
      outcome: 'succeeded',
      nodes: [{ node: { id: '2' }, data: { text: ['loud'] } }],
    });
    expect(result).not.toHaveProperty('warnings');
    expect(server.prompts[0]?.prompt['runledger_input_1']?.class_type).toBe('PreviewAny');
  });

  it('may not have read their input, where the server cannot say it: a warning', async () => {
    const { server } = await open();
    server.faults.missingNodes.add('PreviewAny');
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const { result } = comfyui.start(soundOf('Audio', [{ text: { text: ['loud'] } }]), red);
    expect(await result).toMatchObject({
      outcome: 'succeeded',
      warnings: [
        { kind: 'unchecked_input', node: '1', message: expect.stringContaining('could read "photo"') },
      ],
    });
  });

  it('that nobody takes anything from, or that keep their default, are not asked', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const lone = { ...soundOf('Audio', []), '2': { class_type: 'SaveText', inputs: { steps: [] } } };
    await comfyui.start(lone, red).result;
    await comfyui.start(soundOf('Audio', []), {}).result;
    expect(server.prompts.map(({ prompt }) => Object.keys(prompt))).toEqual([
      ['1', '2'],
      ['1', '2'],
    ]);
  });

  it('fail the run when they did not fetch the file', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const workflow = playing(
      [{ text: { text: ['white'] } }],
      { input_id: 'photo' },
      { class_type: EXTERNAL },
    );
    expect(await comfyui.start(workflow, red).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'input_unavailable', node: '1', message: expect.stringContaining('NO_PROXY') },
    });
  });

  it('fail the run when a text is what they would take their default for', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    expect(await comfyui.start(external('Image'), { inputs: { photo: 'fox.png' } }).result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'invalid_inputs',
        node: '1',
        message: expect.stringContaining('declare the input as a file'),
      },
    });
    expect(server.prompts).toEqual([]);
  });

  it('cannot fetch a file any more when the run has ended', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    await comfyui.start(external('Image'), red).result;
    const url = String(server.prompts[0]?.prompt['1']?.inputs['input_id']);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/red%20fox\.png$/);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

describe('files', () => {
  it('are what was declared as one: a text that is the name of a file stays a text', async () => {
    const { server, start } = await open();
    const { result } = start([], {
      inputs: { picture: 'fox.png', label: 'fox.png' },
      inputFiles: { 'fox.png': 'a fox' },
      fileInputs: ['picture'],
      inputTargets: [{ name: 'label', node: '1', field: 'label' }],
    });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(server.prompts[0]?.prompt['1']?.inputs['label']).toBe('fox.png');
  });

  it('of two runs are never mixed up', async () => {
    const { server, start } = await open();
    const steps: readonly Step[] = [{ file: 'cat_00001_.png', content: 'a cat' }];
    await start(steps).result;
    await start(steps, { slot: 0 }).result;
    const [one, other] = server.prompts.map(({ prompt }) => prompt['1']?.inputs['filename_prefix']);
    expect(one).toMatch(/^runledger\/[0-9a-f-]{36}-1\/cats\/cat$/);
    expect(other).not.toBe(one);
  });

  it('have their node, with its title and what it calls its output', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const file = (name: string): Step => ({ file: name, content: 'x' });
    const text: Step = { text: { text: ['a cat'] } };
    const workflow = {
      '9': { class_type: 'SaveImage', inputs: { steps: [file('b.png')] }, _meta: { title: 'Save Image' } },
      '10': { class_type: 'CaseOutput', inputs: { steps: [text, file('c.png')], output_id: 'portrait' } },
    };
    const nine = { id: '9', class_type: 'SaveImage', title: 'Save Image', output_id: null };
    const ten = { id: '10', class_type: 'CaseOutput', title: null, output_id: 'portrait' };
    expect(await comfyui.start(workflow).result).toMatchObject({
      outcome: 'succeeded',
      data: {},
      nodes: [
        { node: nine, data: {} },
        { node: ten, data: { text: ['a cat'] } },
      ],
      files: [
        { filename: 'b.png', node: nine },
        { filename: 'c.png', node: ten },
      ],
    });
  });

  it('that a node does not name are found in the output folder, and nothing of others', async () => {
    const outputFolder = temporaryFolder();
    const { start } = await open({ outputFolder });
    await start([{ unnamed: 'before.png', content: 'of another run' }]).result;
    mkdirSync(join(outputFolder, 'runledger', 'other-1'), { recursive: true });
    const run = start([
      { progress: 0.5 },
      { wait: 100 },
      { unnamed: 'by-date/cat_0001.png', content: 'cat' },
    ]);
    await until(() => run.reports.length > 0);
    writeFileSync(join(outputFolder, 'runledger', 'other-1', 'a.png'), 'of another attempt');
    const result = await run.result;
    expect(result).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: 'cat_0001.png', subfolder: 'by-date', bytes: 3, node: { id: '1', title: 'Play' } }],
    });
    expect(result).not.toHaveProperty('warnings');
  });

  it.each([
    ['sees', temporaryFolder, 'no file of it is in the output folder'],
    ['does not see', () => undefined, 'the member `output` of EXECUTOR_COMFYUI says where it is'],
  ])(
    'are missed where a node names none, with an executor that %s the output folder',
    async (_, folder, why) => {
      const outputFolder = folder();
      const { start } = await open(outputFolder === undefined ? {} : { outputFolder });
      expect(await start([{ unnamed: 'cat.png', content: '' }]).result).toMatchObject({
        outcome: 'succeeded',
        files: [],
        warnings: [{ kind: 'no_output', node: '1', message: expect.stringContaining(why) }],
      });
    },
  );

  it('that are gone fail the run, and empty the cache for the next one', async () => {
    const { server, start } = await open();
    server.outputs.set = () => server.outputs;
    expect(await start([{ file: 'a.png', content: 'a' }]).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'invalid_output', node: '1', retryable: true },
    });
    expect(server.requests).toContain('POST /free');
  });

  it('of inputs are uploaded under the name of their content', async () => {
    const { server } = await open();
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const workflow = playing([{ copy: 'copy' }], { image: 'default.png' }, { class_type: 'LoadImage' });
    const { result, lines } = comfyui.start(workflow, {
      inputs: { picture: 'me.PNG', other: 'x' },
      inputFiles: { 'me.PNG': '12345' },
      fileInputs: ['picture'],
      inputTargets: [{ name: 'picture', node: '1', field: 'image' }],
    });
    expect(await result).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'copy', bytes: 5 }] });
    expect([...server.inputFiles.keys()]).toEqual([
      'runledger/5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5.png',
    ]);
    expect(lines).toEqual([{ stream: 'runner', line: 'No node of the workflow takes the input "other".' }]);
  });
});

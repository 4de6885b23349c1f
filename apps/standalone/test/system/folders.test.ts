import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { comfyuiSettings } from '@runledger/testing/stand-ins/comfyui';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kill9 } from '../fixtures/processes.ts';
import { runApi, type RunApi } from '../fixtures/run-api.ts';
import { jsonOfCli, runCli } from '../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const END_WITHIN_MS = 90_000;

const comfyui = comfyuiSettings();
let standalone: Standalone;
let api: RunApi;
beforeAll(async () => {
  const env = { EXECUTOR_GPUS: 'CPU:2', RUNLEDGER_HEARTBEAT_PERIOD_S: '2', ...comfyui };
  standalone = await startStandalone({ env });
  api = runApi(standalone);
}, 120_000);
afterAll(() => standalone.stop());

type Texts = Readonly<Record<string, string>>;

const write = (folder: string, files: Texts): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
    if (name.endsWith('.sh')) chmodSync(join(folder, name), 0o755);
  }
};

const aFolder = (files: Texts): string => {
  const folder = temporaryFolder();
  write(folder, files);
  return folder;
};

const deploy = (folder: string): Promise<ReturnType<typeof JSON.parse>> =>
  jsonOfCli(['deploy', folder], standalone.dataFolder);

const runOf = async (deployment: string, ...inputs: readonly string[]) => {
  const options = inputs.flatMap((input) => ['--input', input]);
  const { stdout } = await runCli(['queue', '--deployment', deployment, ...options], standalone.dataFolder);
  return api.ended(stdout.trim(), END_WITHIN_MS);
};

/** What it printed as its texts, and the names of its files. */
const shownBy = ({ outputs }: Awaited<ReturnType<typeof runOf>>): string[] =>
  outputs.flatMap(({ data }) =>
    Object.values(data).flatMap((items) =>
      items.map((item: unknown) =>
        typeof item === 'object' && item !== null && 'filename' in item
          ? String(item.filename)
          : String(item),
      ),
    ),
  );

const toml = (name: string, more: string): string => `name = "${name}"\ngpu = "CPU"\n${more}\n`;

describe('a folder that is deployed', () => {
  it('is kept loaded before its first run, and so is each new version', async () => {
    const code = (greeting: string): string => `
import time
time.sleep(0.5)

def greet(name: str):
    return "${greeting}, " + name
`;
    const folder = aFolder({
      'runledger.toml': toml('ready', 'run = "greet.py:greet"\nkeep_loaded = 1'),
      'greet.py': code('Hello'),
    });
    await deploy(folder);
    const isLoaded = async (): Promise<boolean> => {
      const ready = await jsonOfCli(['deployments', 'ready', 'ready'], standalone.dataFolder);
      return JSON.stringify(ready).includes('"loaded"');
    };
    await waitFor('a loaded process', isLoaded, { everyMs: 500 });
    const first = await runOf('ready', 'name=Ada');
    expect([shownBy(first), first.cold_start_duration]).toEqual([['Hello, Ada'], 0]);
    write(folder, { 'greet.py': code('Bye') });
    await deploy(folder);
    await waitFor('a loaded process', isLoaded, { everyMs: 500 });
    const second = await runOf('ready', 'name=Ada');
    expect([shownBy(second), second.cold_start_duration]).toEqual([['Bye, Ada'], 0]);
    await runCli(['deployments', 'update', 'ready', '--keep-loaded', '0'], standalone.dataFolder);
    const { stdout } = await runCli(['deployments', 'ready', 'ready'], standalone.dataFolder);
    expect(stdout).toContain('Nothing is kept ready');
  });

  it('is executed, stays loaded, is changed without a restart, and is rolled back', async () => {
    const code = (greeting: string): string => `
print("loading")

def greet(name: str, times: int = 1):
    return " ".join([f"${greeting}, {name}!"] * times)
`;
    const folder = aFolder({
      'runledger.toml': toml('greet', 'run = "greet.py:greet"'),
      'greet.py': code('Hello'),
    });
    const first = await deploy(folder);
    expect(first.version).toMatchObject({ number: 1, outcome: 'new' });
    const cold = await runOf('greet', 'name=Ada', 'times=2');
    expect([cold.status, shownBy(cold)]).toEqual(['success', ['Hello, Ada! Hello, Ada!']]);
    const warm = await runOf('greet', 'name=Bob');
    expect([shownBy(warm), warm.cold_start_duration]).toEqual([['Hello, Bob!'], 0]);
    expect(warm.code_sha256).toBe(first.code.sha256);
    expect((await deploy(folder)).version).toMatchObject({ number: 1, outcome: 'unchanged' });

    write(folder, { 'greet.py': code('Good evening') });
    expect((await deploy(folder)).version).toMatchObject({ number: 2, outcome: 'new' });
    const changed = await runOf('greet', 'name=Ada');
    expect(shownBy(changed)).toEqual(['Good evening, Ada!']);
    expect(changed.code_sha256).not.toBe(warm.code_sha256);

    await runCli(['rollback', 'greet'], standalone.dataFolder);
    const back = await runOf('greet', 'name=Ada');
    expect([shownBy(back), back.code_sha256]).toEqual([['Hello, Ada!'], first.code.sha256]);
  }, 120_000);

  it('has secrets of the organisation, rotated without a version, and fails by name without one', async () => {
    const folder = aFolder({
      'runledger.toml': toml('secretive', 'run = "tell.py:tell"\nsecrets = ["A_TOKEN"]'),
      'tell.py': `
import os
token = os.environ["A_TOKEN"]

def tell():
    print("it is", token)
    return str(len(token))
`,
    });
    const value = randomBytes(12).toString('hex');
    const set = async (text: string): Promise<void> => {
      const file = join(temporaryFolder(), 'value');
      writeFileSync(file, text);
      await runCli(['secrets', 'set', 'A_TOKEN', '--from-file', file], standalone.dataFolder);
    };
    const { stderr } = await runCli(['deploy', folder], standalone.dataFolder);
    expect(stderr).toContain('Set it: runledger secrets set A_TOKEN');
    await set(value);
    expect(shownBy(await runOf('secretive'))).toEqual(['24']);
    await set(`${value}-2`);
    const rotated = await runOf('secretive');
    expect(shownBy(rotated)).toEqual(['26']);
    const logs = await runCli(['logs', rotated.id], standalone.dataFolder);
    expect(logs.stdout).toContain('it is $A_TOKEN');
    expect(logs.stdout).not.toContain(value);
    await runCli(['secrets', 'remove', 'A_TOKEN'], standalone.dataFolder);
    const failed = await runOf('secretive');
    expect(failed).toMatchObject({
      status: 'failed',
      error: {
        kind: 'prepare_failed',
        message: expect.stringContaining('runledger secrets set A_TOKEN'),
      },
    });
  }, 120_000);

  it.each<readonly [string, Texts, readonly string[], readonly string[]]>([
    [
      'a shell script',
      {
        'runledger.toml': toml('shell', 'command = ["./run.sh"]'),
        'run.sh': '#!/bin/sh\ncat lines/a.txt > "$RUNLEDGER_OUTPUT_DIR/copy.txt"\n',
        'lines/a.txt': 'a\n',
      },
      [],
      ['copy.txt'],
    ],
    [
      'a function for Node',
      {
        'runledger.toml': toml('node', 'run = "add.mjs:add"\n[inputs]\na = { type = "integer" }'),
        'add.mjs': 'export const add = async ({ a }) => `${a + 1}`;\n',
      },
      ['a=41'],
      ['42'],
    ],
    [
      'a model of Cog',
      {
        'cog.yaml': 'build:\n  gpu: false\npredict: "predict.py:Predictor"\n',
        'predict.py': `
from cog import BasePredictor, Input, Path

class Predictor(BasePredictor):
    def setup(self):
        self.prefix = "hello "

    def predict(self, name: str, scale: int = Input(default=2, ge=1, le=3)) -> Path:
        with open("/tmp/out.txt", "w") as file:
            file.write((self.prefix + name) * scale)
        return Path("/tmp/out.txt")
`,
      },
      ['name=Ada'],
      ['out.txt'],
    ],
  ])(
    'may be %s',
    async (_what, files, inputs, expected) => {
      const folder = aFolder(files);
      const { deployment } = await deploy(folder);
      const run = await runOf(deployment.id, ...inputs);
      expect([run.status, run.error?.message, shownBy(run)]).toEqual(['success', undefined, expected]);
    },
    120_000,
  );

  it('that cannot be prepared fails once, and says why', async () => {
    const folder = aFolder({
      'runledger.toml': toml('wrong', 'command = ["python3", "main.py"]\nrequirements = "requirements.txt"'),
      'main.py': '',
      'requirements.txt': 'this is no requirement\n',
    });
    await deploy(folder);
    const run = await runOf('wrong');
    expect([run.status, run.error, run.attempts.length]).toMatchObject([
      'failed',
      { kind: 'prepare_failed', message: expect.stringMatching(/uv|requirement/), retryable: false },
      1,
    ]);
  }, 120_000);
});

describe('a folder with a ComfyUI workflow', () => {
  const SOURCE = 'nodes/stripes/__init__.py';
  const anExample = (): string => {
    const folder = temporaryFolder();
    cpSync(join(import.meta.dirname, '../../../../examples/folders/comfyui'), folder, { recursive: true });
    return folder;
  };
  const change = (folder: string, file: string, from: string, to: string): void => {
    const text = readFileSync(join(folder, file), 'utf8');
    expect(text).toContain(from);
    write(folder, { [file]: text.replace(from, to) });
  };

  it.skipIf(comfyui === null)(
    'runs on a ComfyUI that stays, until its node is another one',
    async () => {
      const folder = anExample();
      expect((await deploy(folder)).version).toMatchObject({ number: 1, outcome: 'new' });
      const cold = await runOf('comfyui', 'stripes=8');
      expect([cold.status, cold.error?.message, shownBy(cold)]).toEqual([
        'success',
        undefined,
        ['stripes_8.png'],
      ]);
      expect(cold.cold_start_duration).toBeGreaterThan(0);
      const [picture] = cold.outputs.flatMap(({ data }) => Object.values(data).flat());
      const { url } = Object(picture);
      const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
      expect(bytes.subarray(1, 4).toString()).toBe('PNG');
      const warm = await runOf('comfyui');
      expect([shownBy(warm), warm.cold_start_duration]).toEqual([['stripes_4.png'], 0]);

      change(folder, SOURCE, 'f"stripes_{stripes}.png"', 'f"painted_{stripes}.png"');
      expect((await deploy(folder)).version).toMatchObject({ number: 2, outcome: 'new' });
      expect(shownBy(await runOf('comfyui'))).toEqual(['painted_4.png']);
    },
    120_000,
  );

  it('is refused with a member that nobody knows, and without the folder of a node', async () => {
    const refused = async (from: string, to: string): Promise<string> => {
      const folder = anExample();
      change(folder, 'runledger.toml', from, to);
      return deploy(folder).then(() => 'deployed', String);
    };
    expect(await refused('workflow =', 'workflows =')).toMatch(/comfyui\.workflows.*workflow/);
    expect(await refused('path = "nodes/stripes"', 'path = "nodes/no"')).toContain('nodes/no');
  });
});

const WEIGHTS = randomBytes(4_000_000);
const HALF = WEIGHTS.byteLength / 2;

/** Sends half of the weights to the first who asks, and then nothing; all that is wanted to the others. */
const openWeights = async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ headers: { range } }, response) => {
    asked.push(range);
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    response.writeHead(from === 0 ? 200 : 206, {
      etag: '"w"',
      'content-length': WEIGHTS.byteLength - from,
      ...(from === 0
        ? {}
        : { 'content-range': `bytes ${from}-${WEIGHTS.byteLength - 1}/${WEIGHTS.byteLength}` }),
    });
    if (asked.length === 1) response.write(WEIGHTS.subarray(0, HALF));
    else response.end(WEIGHTS.subarray(from));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/weights.bin`,
    asked,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

it('has weights that are a file of the machine that deploys it', async () => {
  const bytes = randomBytes(5_000_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const folder = aFolder({
    'runledger.toml': toml('own', 'run = "hash.py:of"\n[models]\n"w.bin" = { path = "weights/w.bin" }'),
    'hash.py': `
import hashlib, os

def of():
    with open(os.environ["RUNLEDGER_MODELS"] + "/w.bin", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() + " " + str(os.path.exists("weights"))
`,
  });
  mkdirSync(join(folder, 'weights'));
  writeFileSync(join(folder, 'weights/w.bin'), bytes);
  expect((await deploy(folder)).version).toMatchObject({ outcome: 'new' });
  for (let run = 0; run < 2; run += 1) expect(shownBy(await runOf('own'))).toEqual([`${sha256} False`]);
  expect((await deploy(folder)).version).toMatchObject({ outcome: 'unchanged' });
}, 180_000);

it('is prepared to its end after kill -9 of executor and gateway, and continues what has arrived', async () => {
  using weights = await openWeights();
  const sha256 = createHash('sha256').update(WEIGHTS).digest('hex');
  const folder = aFolder({
    'runledger.toml': toml(
      'weights',
      `run = "hash.py:of"\n[models]\n"sub/w.bin" = { url = "${weights.url}", sha256 = "${sha256}" }`,
    ),
    'hash.py': `
import hashlib, os

def of():
    with open(os.environ["RUNLEDGER_MODELS"] + "/sub/w.bin", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
`,
  });
  const { deployment } = await deploy(folder);
  const { stdout } = await runCli(['queue', '--deployment', deployment.id], standalone.dataFolder);
  const run_id = stdout.trim();
  const isFetching = async () => /MB/.test(String((await api.get(run_id)).live_status));
  await waitFor('half of the weights', isFetching, { withinMs: 60_000 });
  for (const service of ['gpu-executor', 'gateway']) kill9(standalone.pid, `services/${service}/src/main.`);
  const run = await api.ended(run_id, END_WITHIN_MS);
  expect([run.status, shownBy(run), run.attempts.length]).toEqual(['success', [sha256], 2]);
  expect(weights.asked).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/)]);
}, 180_000);

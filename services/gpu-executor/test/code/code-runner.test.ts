import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { describe, expect, it, vi } from 'vitest';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { halfOf, isolations, ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';
import type { FetchUrl } from '../../src/transfer/fetch-url.ts';
import { noPart } from '../../src/transfer/input-file.ts';
import { archiveOf, manifestOf, openCode, codeFetcherOf, uv, wheelOf } from './versions.ts';

const output = (text: string): string => JSON.stringify({ output: { text } });
const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });
/** A module. */
const WORDS = 'def greet(name):\n    return "hello " + name\n';
const DEPLOYMENT_ID = '01920000-0000-7000-8000-0000000000dd';

/** In the place of uv. */
const toolOf = (script: string): string => {
  const path = join(temporaryFolder(), 'uv');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
};

describe('the code of a version', () => {
  it.each(halfOf(isolations, 1))(
    'is fetched once %s, for all slots and runs, and executed in its folder',
    async (_, isolation) => {
      const script = `#!/bin/sh
cat words.txt
touch "$RUNLEDGER_OUTPUT_DIR/file"
echo '${output('done')}'
`;
      const archive = await archiveOf({ 'run.sh': script, 'words.txt': 'hello\n' });
      const fetchCode = codeFetcherOf(archive);
      const { start, workFolder } = await openCode({}, { isolation });
      const manifest = manifestOf(archive, { command: ['./run.sh'] });
      const runs = [0, 1].map((slot) => start(manifest, { slot, fetchCode }));
      for (const { result, codes, lines } of runs) {
        expect(await result).toMatchObject({
          outcome: 'succeeded',
          data: { text: ['done'] },
          files: [{ filename: 'file' }],
        });
        expect(codes).toEqual([archive.sha256]);
        const written = lines.filter(({ stream }) => stream === 'stdout').map(({ line }) => line);
        expect(written).toEqual(['hello']);
      }
      expect(fetchCode.fetches()).toBe(1);
      expect(await start(manifest, { fetchCode, nth: 1 }).result).toMatchObject({ outcome: 'succeeded' });
      expect(fetchCode.fetches()).toBe(1);
      const folder = join(workFolder, 'prepared', ORG_ID, 'code', archive.sha256);
      expect(existsSync(join(folder, 'words.txt'))).toBe(true);
    },
  );

  it.each<readonly [string, Omit<CodeManifest, 'code_sha256'>, string]>([
    [
      'with a program that the machine has not',
      { command: ['no-such-program'] },
      'has no no-such-program on its PATH',
    ],
    ['with a command outside', { command: ['../run.sh'] }, 'not below the folder of the code'],
    ['with an absolute command', { command: ['/bin/sh'] }, 'not below the folder of the code'],
    ['with a file that cannot be executed', { command: ['./words.txt'] }, 'it needs the mode 0755'],
    [
      'with a reserved variable',
      { command: ['sh'], env: { TMPDIR: '/x' } },
      'env.TMPDIR. The executor sets this variable itself',
    ],
    ['without the file of its packages', { command: ['sh'], requirements: 'no.txt' }, 'has no file no.txt'],
    ['without a lock', { command: ['sh'], requirements: 'package.json' }, 'no package-lock.json beside'],
  ])('%s is not run, and the run says why', async (_, of, why) => {
    const archive = await archiveOf({ 'words.txt': 'x', 'package.json': '{}' });
    const { start } = await openCode();
    const { result, begun } = start(manifestOf(archive, of), { fetchCode: codeFetcherOf(archive) });
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'prepare_failed', retryable: false, message: expect.stringContaining(why) },
    });
    expect(begun).toEqual([]);
  });

  it('that is not what the manifest says is not unpacked', async () => {
    const [archive, other] = [await archiveOf({ a: 'x' }), await archiveOf({ a: 'y' })];
    const { start, workFolder } = await openCode();
    const { result } = start(manifestOf(archive, { command: ['true'] }), { fetchCode: codeFetcherOf(other) });
    expect(await result).toMatchObject({
      error: { message: expect.stringContaining('its SHA-256 should be') },
    });
    expect(readdirSync(join(workFolder, 'prepared', ORG_ID, 'code'))).toEqual([]);
  });

  it('sees nothing of the machine because its manifest names it', async () => {
    const secret = join(temporaryFolder(), 'secret');
    writeFileSync(secret, 'key', { mode: 0o644 });
    chmodSync(join(secret, '..'), 0o755);
    const archive = await archiveOf({ a: '' });
    const { start } = await openCode();
    const env = { PATH: `/usr/bin:/bin:${join(secret, '..')}`, LD_LIBRARY_PATH: join(secret, '..') };
    const manifest = manifestOf(archive, { command: ['cat', secret], env });
    const { result } = start(manifest, { fetchCode: codeFetcherOf(archive) });
    expect(await result).toMatchObject({
      error: { kind: 'program_exit', message: expect.stringContaining('No such file') },
    });
  });

  it('stays loaded when its mode is resident, and is ended by a newer version of its deployment', async () => {
    const program = `import json, os, sys

def say(**message):
    print(json.dumps(message), flush=True)

once = os.urandom(8).hex()
say(type="ready")
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "run":
        say(type="output", run_id=message["run_id"], text=once + os.environ["MARK"])
        say(type="done", run_id=message["run_id"])
`;
    const archive = await archiveOf({ 'main.py': program });
    const fetchCode = codeFetcherOf(archive);
    const { start, logged } = await openCode();
    const manifest = manifestOf(archive, {
      command: ['python3', 'main.py'],
      mode: 'resident',
      env: { MARK: 'a' },
    });
    const version = (workflow_version_id: string, slot: number, nth: number) =>
      start(manifest, { fetchCode, workflow_version_id, slot, nth, deployment_id: DEPLOYMENT_ID });
    const first = await version('1', 0, 1).result;
    expect(first).toMatchObject({ outcome: 'succeeded' });
    expect(await version('1', 0, 2).result).toEqual(first);
    expect(await version('2', 1, 3).result).toMatchObject({ outcome: 'succeeded' });
    await until(() => JSON.stringify(logged).includes('"phase":"ending"'));
    expect(await version('1', 0, 4).result).not.toEqual(first);
  });
});

describe('the secrets of a version', () => {
  const VALUE = 'hf_a-secret-value';

  it('are variables of its process, and are shown in no line, error or log of the executor', async () => {
    const script = `#!/bin/sh
echo "the token is $HF_TOKEN"
printf %s "$HF_TOKEN" | base64 >&2
tr '\\0' ' ' </proc/$PPID/cmdline
tr '\\0' ' ' </proc/$$/cmdline
echo "gave up with $HF_TOKEN" >&2
exit 3
`;
    const archive = await archiveOf({ 'run.sh': script });
    const { start, logged } = await openCode();
    const manifest = manifestOf(archive, { command: ['./run.sh'], secrets: { HF_TOKEN: 'HF' } });
    const run = start(manifest, { fetchCode: codeFetcherOf(archive), secrets: { HF_TOKEN: VALUE } });
    const result = await run.result;
    expect(result).toMatchObject({
      error: { kind: 'program_exit', message: expect.stringContaining('gave up with $HF_TOKEN') },
    });
    const lines = run.lines.map(({ line }) => line).join('\n');
    expect(lines).toContain('the token is $HF_TOKEN');
    expect(lines).toContain('run.sh');
    for (const shown of [lines, JSON.stringify(result), JSON.stringify(logged)])
      expect(shown).not.toContain(VALUE);
  });

  it('have other values after a rotation, which starts another process', async () => {
    const source = `import os
loaded = os.urandom(8).hex()
token = os.environ["TOKEN"]

def predict():
    return f"{loaded} {len(token)}"
`;
    const archive = await archiveOf({ 'predict.py': source });
    const fetchCode = codeFetcherOf(archive);
    const { start } = await openCode();
    const manifest = manifestOf(archive, { run: 'predict.py:predict', secrets: { TOKEN: 'HF' } });
    let nth = 0;
    const run = async (TOKEN: string): Promise<string> => {
      const { result, lines } = start(manifest, { fetchCode, secrets: { TOKEN }, nth: (nth += 1) });
      const ended = await result;
      expect(ended, JSON.stringify(lines)).toMatchObject({ outcome: 'succeeded' });
      return JSON.stringify(ended);
    };
    const first = await run(VALUE);
    expect(first).toContain(` ${VALUE.length}`);
    expect(await run(VALUE)).toBe(first);
    const rotated = await run(`${VALUE}2`);
    expect(rotated).toContain(` ${VALUE.length + 1}`);
    const back = await run(VALUE);
    expect(back).not.toBe(first);
  });

  it('are not given to what installs its packages', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const { start } = await openCode({ EXECUTOR_UV: toolOf('env >&2; exit 1') });
    const manifest = manifestOf(archive, {
      command: ['true'],
      requirements: 'requirements.txt',
      secrets: { HF_TOKEN: 'HF' },
    });
    const run = start(manifest, { fetchCode: codeFetcherOf(archive), secrets: { HF_TOKEN: VALUE } });
    expect(await run.result).toMatchObject({ error: { kind: 'prepare_failed' } });
    expect(JSON.stringify(run.lines)).toContain('ENVIRONMENT=');
    expect(JSON.stringify(run.lines)).not.toContain('HF_TOKEN');
  });
});

describe('a function of a version', () => {
  it('stays loaded with its models, which are fetched once', async () => {
    const weights = 'weights';
    const sha256 = createHash('sha256').update(weights).digest('hex');
    const source = `import os
words = open(os.path.join(os.environ["RUNLEDGER_MODELS"], "a/words.txt")).read()
loaded = os.urandom(4).hex()

def predict(name: str):
    return f"{words} {name} {loaded}"
`;
    const archive = await archiveOf({ 'predict.py': source });
    let fetches = 0;
    const fetchModel: FetchUrl = async (_url, { path, part = noPart() }) => {
      fetches += 1;
      await writeFile(path, weights);
      part.hash.update(weights);
      part.bytes = weights.length;
      return { kind: 'fetched', bytes: weights.length, filename: '', content_type: '' };
    };
    const { start, workFolder } = await openCode({}, { fetchModel });
    const models = { 'a/words.txt': { url: 'https://example.com/words.txt', sha256 } };
    const manifest = manifestOf(archive, { run: 'predict.py:predict', models });
    const run = (nth: number): ReturnType<typeof start> =>
      start(manifest, { fetchCode: codeFetcherOf(archive), inputs: { name: 'you' }, nth });
    const first = run(1);
    const result = await first.result;
    expect(result, JSON.stringify(first.lines)).toMatchObject({
      outcome: 'succeeded',
      data: { text: [expect.stringMatching(/^weights you [0-9a-f]{8}$/)] },
    });
    expect(first.preparings).toEqual([
      { fetchMs: expect.any(Number), environmentMs: 0, weightsMs: expect.any(Number) },
    ]);
    const [preparing] = first.preparings;
    expect(preparing?.weightsMs).toBeGreaterThan(0);
    expect((preparing?.fetchMs ?? 0) + (preparing?.weightsMs ?? 0)).toBeLessThan(first.begun[0] ?? 0);
    const warm = run(2);
    expect(await warm.result).toEqual(result);
    expect([warm.begun, warm.preparings]).toEqual([[0], [null]]);
    expect(fetches).toBe(1);
    const kept = readdirSync(join(workFolder, 'prepared', ORG_ID, 'models'));
    expect(kept.toSorted()).toEqual([sha256, `${sha256}.json`]);
  });
});

describe('what installs packages', () => {
  const requirements = { command: ['true'], requirements: 'requirements.txt' };

  it('is missing, and the run says what its operator can do', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const { start } = await openCode({ EXECUTOR_UV: undefined }, { path: '/usr/bin:/bin' });
    const { result } = start(manifestOf(archive, requirements), { fetchCode: codeFetcherOf(archive) });
    expect(await result).toMatchObject({
      error: { kind: 'prepare_failed', retryable: false, message: expect.stringContaining('pip install uv') },
    });
  });

  it('leaves nothing when its run is cancelled, and another run begins anew', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const tool = toolOf('echo begun; touch "$ENVIRONMENT/file"; exec sleep 600');
    const { start, workFolder } = await openCode({ EXECUTOR_UV: tool });
    const run = start(manifestOf(archive, requirements), { fetchCode: codeFetcherOf(archive) });
    await until(() => run.lines.some(({ line }) => line === 'begun'));
    run.cancel();
    expect(await run.result).toEqual({ outcome: 'cancelled', forced: false, files: [] });
    expect(readdirSync(join(workFolder, 'prepared', ORG_ID, 'environments'))).toEqual([]);
  });

  it('leaves what belongs to the executor: no pipe, no other name of a file, no mode of its own', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const tool =
      toolOf(`[ -e "$ENVIRONMENT/bin" ] && exit 0; mkdir -p "$ENVIRONMENT/bin" && cd "$ENVIRONMENT/bin"
      echo x >one; ln -f one python; chmod 4777 one; mkfifo pipe; mkdir -m 0700 folder; ln -fs /etc link`);
    const { start, workFolder } = await openCode({ EXECUTOR_UV: tool });
    const run = start(manifestOf(archive, requirements), { fetchCode: codeFetcherOf(archive) });
    expect(await run.result, JSON.stringify(run.lines)).toMatchObject({ outcome: 'succeeded' });
    const above = join(workFolder, 'prepared', ORG_ID, 'environments');
    const bin = join(above, readdirSync(above)[0] ?? '', 'bin');
    const left = readdirSync(bin).map((name) => {
      const { mode, uid, nlink } = lstatSync(join(bin, name));
      return [name, mode & 0o7777, uid, name === 'folder' ? 1 : nlink];
    });
    const uid = process.geteuid?.();
    expect(left).toEqual([
      ['folder', 0o755, uid, 1],
      ['link', 0o777, uid, 1],
      ['one', 0o755, uid, 1],
      ['python', 0o755, uid, 1],
    ]);
  });

  it('says its last lines when it fails, which another try does not change', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const { start } = await openCode({ EXECUTOR_UV: toolOf('echo "no version of words" >&2; exit 1') });
    const { result } = start(manifestOf(archive, requirements), { fetchCode: codeFetcherOf(archive) });
    expect(await result).toMatchObject({
      error: {
        kind: 'prepare_failed',
        retryable: false,
        message: expect.stringContaining('no version of words'),
      },
    });
  });
});

describe.skipIf(uv === null)('the packages of a version', () => {
  const wheelHouse = (): string => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const wheel = wheelOf('words', '1.0', WORDS);
    writeFileSync(join(folder, wheel.filename), wheel.bytes);
    return folder;
  };
  const main = `import json, words
try:
    open(words.__file__, "a")
except OSError:
    print("closed")
print(json.dumps({"output": {"text": words.greet("you")}}))
`;

  it.each(halfOf(isolations, 0))(
    'are installed once %s from a folder with wheels, and belong to no program',
    async (_, isolation) => {
      const archive = await archiveOf({ 'main.py': main, 'requirements.txt': 'words==1.0\n' });
      const fetchCode = codeFetcherOf(archive);
      const settings = { EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse() };
      const { start, workFolder } = await openCode(settings, { isolation });
      const manifest = manifestOf(archive, {
        command: ['python', 'main.py'],
        requirements: 'requirements.txt',
      });
      const runs = [0, 1].map((slot) => start(manifest, { slot, fetchCode }));
      const lines = [];
      for (const run of runs) {
        const result = await run.result;
        expect(result, JSON.stringify(run.lines)).toMatchObject({ data: { text: ['hello you'] } });
        lines.push(...run.lines);
        expect(run.environments).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
        // One of them installs, and the other one waits for it.
        expect(run.preparings[0]?.environmentMs).toBeGreaterThan(0);
      }
      expect(lines.filter(({ line }) => line === 'preparing: installing packages')).toHaveLength(1);
      expect(lines.filter(({ line }) => line === 'closed')).toHaveLength(2);
      const folder = join(workFolder, 'prepared', ORG_ID, 'environments');
      const [name = ''] = readdirSync(folder);
      expect(statSync(join(folder, name, 'pyvenv.cfg'))).toMatchObject({
        uid: process.geteuid?.(),
        nlink: 1,
      });

      // As after an update of the machine.
      rmSync(join(folder, name, 'bin/python'));
      const again = start(manifest, { fetchCode, nth: 1 });
      expect(await again.result).toMatchObject({ outcome: 'succeeded' });
      expect(again.environments).toEqual(runs[0]?.environments);
    },
  );

  it('that are built have no part in what later ones are installed from', async () => {
    // Its backend writes into the cache that it was given, and into a wheel that it makes.
    const backend = `import os, pathlib
cache = pathlib.Path(os.environ["UV_CACHE_DIR"])
(cache / "poison").write_text("x")
for path in cache.rglob("words.py"):
    path.write_text("def greet(name):\\n    return 'poison'\\n")
`;
    const built =
      '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n[project]\nname = "own"\nversion = "1"\n';
    const files = { 'main.py': main, 'own/pyproject.toml': built, 'own/b.py': backend };
    const [plain, hostile] = [
      await archiveOf({ ...files, 'requirements.txt': 'words==1.0\n' }),
      await archiveOf({ ...files, 'requirements.txt': 'words==1.0\n-e ./own\n./own\n' }),
    ];
    const later = await archiveOf({ ...files, 'requirements.txt': 'words == 1.0\n' });
    const settings = { EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse() };
    const { start, workFolder } = await openCode(settings);
    const of = { command: ['python', 'main.py'], requirements: 'requirements.txt' };
    const run = (archive: typeof plain, nth: number) =>
      start(manifestOf(archive, of), { fetchCode: codeFetcherOf(archive), nth }).result;
    expect(await run(plain, 0)).toMatchObject({ data: { text: ['hello you'] } });
    expect(await run(hostile, 1)).toMatchObject({ error: { kind: 'prepare_failed' } });
    expect(await run(later, 2)).toMatchObject({ data: { text: ['hello you'] } });
    const left = readdirSync(join(workFolder, 'caches'), { recursive: true }).map(String);
    expect(left.some((path) => path.endsWith('uv'))).toBe(true);
    expect(left.filter((path) => path.endsWith('poison'))).toEqual([]);
  });

  it('are those of its project, without the project itself', async () => {
    const project =
      '[project]\nname = "own"\nversion = "0"\nrequires-python = ">=3.8"\ndependencies = ["words==1.0"]\n';
    const archive = await archiveOf({ 'app/main.py': main, 'app/pyproject.toml': project });
    const settings = { EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse() };
    const { start } = await openCode(settings);
    const manifest = manifestOf(archive, {
      command: ['python', 'app/main.py'],
      requirements: 'app/pyproject.toml',
    });
    const run = start(manifest, { fetchCode: codeFetcherOf(archive) });
    expect(await run.result, JSON.stringify(run.lines)).toMatchObject({ data: { text: ['hello you'] } });
  });

  it('are those of its lock, with their hashes, from where the executor has packages', async () => {
    const { bytes } = wheelOf('words', '1.0', WORDS);
    const lockWith = (hash: string): string => `version = 1
revision = 3
requires-python = ">=3.8"

[[package]]
name = "own"
version = "0"
source = { virtual = "." }
dependencies = [{ name = "words" }]

[package.metadata]
requires-dist = [{ name = "words" }]

[[package]]
name = "words"
version = "1.0"
source = { registry = "https://index.example/simple" }
wheels = [{ url = "https://index.example/words-1.0-py3-none-any.whl", hash = "sha256:${hash}", size = ${bytes.length} }]
`;
    const project =
      '[project]\nname = "own"\nversion = "0"\nrequires-python = ">=3.8"\ndependencies = ["words"]\n';
    const { start } = await openCode({ EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse() });
    const run = async (hash: string, nth: number): Promise<ReturnType<typeof start>> => {
      const files = { 'main.py': main, 'pyproject.toml': project, 'uv.lock': lockWith(hash) };
      const archive = await archiveOf(files);
      const manifest = manifestOf(archive, {
        command: ['python', 'main.py'],
        requirements: 'pyproject.toml',
      });
      return start(manifest, { fetchCode: codeFetcherOf(archive), nth });
    };
    const locked = await run(createHash('sha256').update(bytes).digest('hex'), 1);
    expect(await locked.result, JSON.stringify(locked.lines)).toMatchObject({
      data: { text: ['hello you'] },
    });
    const other = await run('0'.repeat(64), 2);
    expect(await other.result).toMatchObject({ error: { kind: 'prepare_failed', retryable: false } });
    expect(JSON.stringify(other.lines)).toMatch(/hash/i);
  });

  // uv tries for seconds.
  it.runIf(IS_NIGHTLY)('may be there at another time when the index does not answer', async () => {
    const archive = await archiveOf({ 'requirements.txt': 'words==1.0\n' });
    const { start } = await openCode({ EXECUTOR_PYTHON_INDEX: 'http://127.0.0.1:9/simple' });
    const manifest = manifestOf(archive, { command: ['true'], requirements: 'requirements.txt' });
    const run = start(manifest, { fetchCode: codeFetcherOf(archive) });
    expect(await run.result, JSON.stringify(run.lines)).toMatchObject({
      error: { kind: 'prepare_failed', retryable: true },
    });
  });

  it('are of a Python that the machine must have when it may fetch none', async () => {
    const archive = await archiveOf({ a: '' });
    const { start } = await openCode({ EXECUTOR_PYTHON_INDEX: 'none' });
    const { result } = start(manifestOf(archive, { command: ['python', 'a'], python: '3.99' }), {
      fetchCode: codeFetcherOf(archive),
    });
    expect(await result).toMatchObject({
      error: { message: expect.stringContaining('has no python3.99 on its PATH') },
    });
  });
});

describe('the packages of a version for Node', () => {
  it('are beside its code, where Node looks for them, as its lock has them', async () => {
    const dep = { name: 'words', version: '1.0.0', type: 'module', exports: './index.js' };
    const own = { name: 'own', version: '1.0.0', dependencies: { words: 'file:words' } };
    const packages = {
      '': own,
      words: { version: '1.0.0' },
      'node_modules/words': { resolved: 'words', link: true },
    };
    const lock = { name: 'own', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
    const main = `import { greet } from 'words'; console.log(JSON.stringify({ output: { text: greet('you') } }));`;
    const archive = await archiveOf({
      'main.mjs': main,
      'package.json': JSON.stringify(own),
      'package-lock.json': JSON.stringify(lock),
      'words/package.json': JSON.stringify(dep),
      'words/index.js': 'export const greet = (name) => `hello ${name}`;',
    });
    const { start } = await openCode();
    const manifest = manifestOf(archive, { command: ['node', 'main.mjs'], requirements: 'package.json' });
    const run = start(manifest, { fetchCode: codeFetcherOf(archive) });
    expect(await run.result, JSON.stringify(run.lines)).toMatchObject({ data: { text: ['hello you'] } });
    expect(run.environments).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });
});

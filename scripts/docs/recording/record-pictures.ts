/**
 * `npm run pictures` records the pictures of README.md, in docs/readme: a terminal in which a clone of what is committed here starts and
 * runs the sample, the waterfall of a run, and pages of the console. It needs what `npm start` needs, the command `script` (of util-linux), and Chromium.
 */
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { runCommand } from '@runledger/local-servers/run-command';
import { drawTerminals } from './draw-terminals.ts';
import { recordConsole } from './record-console.ts';
import { deployNoise, executorOf, waterfallOfARun } from './record-run.ts';
import { openTerminal, type Shown, type Terminal } from './terminal.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PICTURES = join(ROOT, 'docs', 'readme');
/** The rows hold all that a start prints when it is ready. */
const SIZE = { columns: 110, rows: 30 };
const PROMPT = '~/runledger $ ';
const START_WITHIN_MS = 300_000;
const RUN_WITHIN_MS = 60_000;
const CTRL_C = '\u0003';

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-recording-'));
const home = folder.path;
const clone = join(home, 'runledger');
const cloned = await runCommand('git', ['clone', '--quiet', ROOT, clone], {
  env: process.env,
  withinMs: 60_000,
});
if (!cloned.ok) throw new Error(`The repository cannot be cloned: ${cloned.why}`);

// The Node of the system, as for somebody who has nothing else.
const path = (process.env['PATH'] ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'));
const open = (more: Readonly<Record<string, string>> = {}): Promise<Terminal> => {
  const env = {
    PATH: path.join(delimiter),
    HOME: home,
    LANG: 'C.UTF-8',
    RUNLEDGER_PORT: '0',
    EXECUTOR_NAME: 'box',
    npm_config_progress: 'false',
    ...more,
  };
  return openTerminal({ folder: clone, env, prompt: PROMPT, ...SIZE });
};

const start = async (more: Readonly<Record<string, string>> = {}): Promise<Terminal> => {
  const terminal = await open(more);
  await terminal.type('npm start');
  await terminal.shows('Ctrl-C stops everything', START_WITHIN_MS);
  return terminal;
};

const stop = async (terminal: Terminal): Promise<void> => {
  terminal.press(CTRL_C);
  await terminal.shows('Stopped.', RUN_WITHIN_MS);
  await terminal.close();
};

const connection = async (): Promise<Record<string, string>> =>
  JSON.parse(await readFile(join(clone, '.runledger', 'connection.json'), 'utf8'));

const textOf = (shown: readonly Shown[]): string => shown.map(({ text }) => text).join('');

/** As if it were the folder of the reader and the usual port. */
const asOfReader = (shown: readonly Shown[], port: string): Shown[] =>
  shown.map(({ atMs, text }) => ({
    atMs,
    text: text.replaceAll(home, '/home/you').replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8080'),
  }));

const first = await start();
const banner = [...first.shown];
const { url = '' } = await connection();
const second = await open();
await second.type('npx runledger queue --watch --input palette=ember');
await second.isBack(RUN_WITHIN_MS);
const run = [...second.shown];
await second.close();
await stop(first);

await mkdir(PICTURES, { recursive: true });
const recordings = [banner, run].map((shown) => asOfReader(shown, new URL(url).port));
await writeFile(join(PICTURES, 'first-run.svg'), await drawTerminals(recordings, SIZE));

const busy = await start(await executorOf(home, clone));
const { url: api = '', api_key: key = '', deployment_id: sample = '' } = await connection();
const deployments = { sample, noise: await deployNoise({ url: api, key }) };
await writeFile(join(PICTURES, 'waterfall.svg'), await waterfallOfARun({ url: api, key }, deployments));
const [link = ''] = /http\S+\/console\/sign-in#token=\S+/.exec(textOf(busy.shown)) ?? [];
await recordConsole({ url: api, key, deployments, link, folder: PICTURES });
await stop(busy);

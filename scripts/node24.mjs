// Runs a program of this repository on Node 24, no matter which Node started it. Plain JavaScript that Node 20 can run, before anything
// is installed: so it reads the environment itself, and not by the schemas of packages/service-kit.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_MAJOR = 24;

/** The path of a Node that is new enough: the running one, else the one among the dependencies. */
export const findNode24 = () => {
  if (majorOf(process.version) >= OLDEST_MAJOR) return process.execPath;
  const packaged = join(root, 'node_modules', `node-linux-${process.arch}`);
  const node = join(packaged, 'bin', 'node');
  if (existsSync(node) && majorOf(`v${versionOf(packaged)}`) >= OLDEST_MAJOR) return node;
  return fail(
    `This needs Node ${OLDEST_MAJOR} or newer. Node ${process.version} started it, and the dependencies have none ` +
      `for ${process.platform} ${process.arch}. Run npm ci in ${root}, or install Node ${OLDEST_MAJOR} from https://nodejs.org.`,
  );
};

const versionOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;

const majorOf = (version) => Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);

/** Runs Node 24 with these arguments and variables, and ends this process with the same status. */
export const runWithNode24 = (args, env = {}) => {
  const all = withCompileCache({ ...process.env, ...env });
  const child = spawn(findNode24(), args, { stdio: 'inherit', env: all });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // In a terminal the child is in the same process group and received Ctrl-C, and npm forwards it to this process once
      // more. A second signal to the child would look like a request to kill it.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.once('error', (error) => fail(`Node ${OLDEST_MAJOR} cannot start: ${error.message}`));
  child.once('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal]);
  });
};

/** Every process that starts from source then finds it compiled, which halves the processor time of its start. */
const withCompileCache = (env) => ({
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'runledger-compiled'),
  ...env,
});

/** The environment in which the repository's tools find Node 24 and each other. */
export const toolEnvironment = () => ({
  ...withCompileCache(process.env),
  PATH: [dirname(findNode24()), join(root, 'node_modules', '.bin'), process.env.PATH].join(':'),
});

const fail = (sentence) => {
  console.error(sentence);
  process.exit(1);
};

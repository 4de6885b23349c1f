import { findOnPath } from '../install/executables.ts';
import { startMongoServer } from './mongo-process.ts';
import type { MongoServer } from './mongo-process.ts';
import { runCommand } from '../process/run-command.ts';

export type { MongoServer } from './mongo-process.ts';

export interface MongodBinary {
  readonly path: string;
  /** For example `8.0.4`. */
  readonly version: string;
}

/** The `mongod` on `PATH`; undefined if there is none, or it does not run. */
export const findMongod = async (options: {
  readonly env: NodeJS.ProcessEnv;
}): Promise<MongodBinary | undefined> => {
  const path = await findOnPath('mongod', options.env);
  if (path === undefined) return undefined;
  const answer = await runCommand(path, ['--version'], { env: options.env, withinMs: 10_000 });
  const version = answer.ok ? /\bv(\d+\.\d+\.\d+\S*)/.exec(answer.stdout)?.[1] : undefined;
  return version === undefined ? undefined : { path, version };
};

/**
 * Starts `mongod` on the loopback address and waits until it accepts writes. After it ended, even by a kill, it can start again
 * on the same folder and port.
 */
export const startMongod = (options: {
  readonly binary: string;
  readonly dataDir: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Only users with a password may do anything; by default everybody may. */
  readonly auth?: boolean;
  /** mongod writes its log to this file, not to its standard output. */
  readonly logFile?: string;
}): Promise<MongoServer> => {
  const { binary, dataDir, port = 0, auth = false, logFile } = options;
  const log = logFile === undefined ? [] : [`--logpath=${logFile}`, '--logappend'];
  const args = (chosen: number): string[] => [
    `--dbpath=${dataDir}`,
    `--port=${chosen}`,
    '--bind_ip=127.0.0.1',
    '--nounixsocket',
    ...(auth ? ['--auth'] : []),
    ...log,
  ];
  return startMongoServer({ name: 'mongod', file: binary, args, dataDir, port });
};

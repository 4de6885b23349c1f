import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { OperatorCommand } from '../../../runners/operator-command.ts';
import { readReference, referenceInCogYaml, sourceJoins } from '../core/joined-text.ts';

const MAX_BYTES = 1024 ** 2;

/** Whether the source of the model that a command starts says that its output is the pieces of one text. False when it cannot be read. */
export const sourceOfCommandJoins = async ({
  cwd,
  env,
}: Pick<OperatorCommand, 'cwd' | 'env'>): Promise<boolean> => {
  if (cwd === undefined) return false;
  const stub = env['COG_PREDICT_TYPE_STUB'];
  const model =
    stub === undefined ? referenceInCogYaml(await textOf(join(cwd, 'cog.yaml'))) : readReference(stub);
  return model !== null && sourceJoins(await textOf(resolve(cwd, model.file)), model.name);
};

/** Its beginning; empty when it cannot be read. */
const textOf = async (path: string): Promise<string> => {
  try {
    await using file = await open(path);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  }
};

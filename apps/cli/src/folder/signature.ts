import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import { parseJson } from '@runledger/contracts/json';
import { codeOf } from '@runledger/resilience/errors';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { CommandError, plain } from '../command/command-error.ts';
import { SIGNATURE_SCRIPT } from './signature-script.ts';

interface PythonFunction {
  /** Its file, as the folder names it. */
  readonly file: string;
  readonly name: string;
  readonly source: string;
}

const PYTHON = 'python3';
/** The source is only read, so this is a machine that stands still. */
const WITHIN_MS = 30_000;

/** What the script prints. The service checks the definitions. */
const Answer = Type.Union([
  Type.Object({ inputs: Type.Array(Type.Unsafe<NewInputDefinition>(Type.Object({}))) }),
  Type.Object({ error: Type.String(), line: Type.Union([Type.Integer(), Type.Null()]) }),
]);

/** The inputs of a function, from its signature. The function is not executed, and nothing is imported. @throws CommandError */
export const inputsOfFunction = async ({
  file,
  name,
  source,
}: PythonFunction): Promise<NewInputDefinition[]> => {
  const { stdout, stderr } = await answerOf(JSON.stringify({ source, function: name }));
  const answer = parseJson(stdout);
  if (!Value.Check(Answer, answer)) {
    const why = plain(stderr.trimEnd().split('\n').at(-1) ?? '') || 'it printed nothing';
    throw new CommandError(`${PYTHON} could not read ${plain(file)}: ${why}. You can also ${INSTEAD}.`);
  }
  if ('inputs' in answer) return answer.inputs;
  const at = answer.line === null ? '' : `, line ${answer.line}`;
  throw new CommandError(`${plain(file)}${at}: ${plain(answer.error)}`);
};

const INSTEAD = 'write the inputs in [inputs], such as prompt = { type = "string", required = true }';

/** Isolated: what lies in the folder of the command, or in variables, has no part in it. */
const answerOf = async (request: string): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  const child = spawn(PYTHON, ['-I', '-c', SIGNATURE_SCRIPT], { timeout: WITHIN_MS, stdio: 'pipe' });
  const closed = once(child, 'close');
  // One that ends early says why.
  child.stdin.on('error', () => undefined).end(request);
  try {
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { stdout, stderr };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new CommandError(
      `There is no ${PYTHON} on PATH, which reads the inputs of the function from its source. Install Python 3, or ${INSTEAD}.`,
    );
  }
};

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TRESPASSER } from './trespass.ts';

/** What the brokers refused to anybody but trespassers, as in their log files. */
export const brokerRefusals = async (folder: string): Promise<string[]> => {
  const files = (await readdir(folder)).filter((name) => /^broker.*\.log$/.test(name));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => isRefusal(line) && !line.includes(TRESPASSER));
};

const isRefusal = (line: string): boolean =>
  /(?:Publish|Subscription|Permissions?) Violation/i.test(line) && !line.includes(LATE_RESPONSE);

/** Its request came over a connection that was lost before the response: the right to it was of that connection. */
const LATE_RESPONSE = 'Publish Violation - Subject "_R_.';

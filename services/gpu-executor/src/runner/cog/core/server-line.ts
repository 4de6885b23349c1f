import { isJsonObject, parseJson } from '@runledger/contracts/json';

/** A line that a server of Cog wrote, for people: it writes most lines as `{"fields": {"message"}, …}`. */
export const serverLine = (line: string): string => {
  if (!line.startsWith('{')) return line;
  const entry = parseJson(line);
  const fields = isJsonObject(entry) ? entry['fields'] : undefined;
  return isJsonObject(fields) && typeof fields['message'] === 'string' ? fields['message'] : line;
};

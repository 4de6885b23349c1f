import { snippetz } from '@scalar/snippetz';
import { own } from '../door/compiled.ts';
import { withOperations, type OpenApiDocument } from './document.ts';

/** As the renderer of the reference reads it. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The document, with samples for each operation. `server`: the address of the API in them, with its base path. */
export const withCodeSamples = (document: OpenApiDocument, server: string): OpenApiDocument => {
  const print = snippetz();
  const samplesOf = (path: string, method: string, operation: object): readonly CodeSample[] => {
    const request = sampleRequest(`${server}${path}`, method, operation, document);
    return LANGUAGES.map(({ lang, label, target, client, own, program }) => {
      const snippet = print.print(target, client, request) ?? '';
      const source = own.reduce(
        (text, [placeholder, words]) => text.replace(placeholder, () => words),
        snippet,
      );
      return { lang, label, source: program(source) };
    });
  };
  return withOperations(document, (operation, path, method) => ({
    ...operation,
    'x-code-samples': samplesOf(path, method, operation),
  }));
};

/** They stand in a request for the key, which comes from the environment, and for the content of a file. */
const KEY = 'Bearer KEY';
const FILE = '@fox.png';

/** What the library writes each request with, and in which words a placeholder is said there. */
const LANGUAGES = [
  {
    lang: 'bash',
    label: 'curl',
    target: 'shell',
    client: 'curl',
    own: [[`'Authorization: ${KEY}'`, '"Authorization: Bearer $RUNLEDGER_API_KEY"']],
    program: (request: string) => request,
  },
  {
    lang: 'javascript',
    label: 'JavaScript',
    target: 'node',
    client: 'fetch',
    own: [
      [`'${KEY}'`, '`Bearer ${process.env.RUNLEDGER_API_KEY}`'],
      [`'${FILE}'`, "await readFile('fox.png')"],
    ],
    program: (request: string) =>
      `${request.includes('readFile(') ? "import { readFile } from 'node:fs/promises';\n\n" : ''}const response = await ${request};\nconsole.log(await response.text());`,
  },
  {
    lang: 'python',
    label: 'Python',
    target: 'python',
    client: 'requests',
    own: [
      [`"${KEY}"`, `f"Bearer {os.environ['RUNLEDGER_API_KEY']}"`],
      [`b"${FILE}"`, 'open("fox.png", "rb")'],
    ],
    program: (request: string) =>
      `import os\n\nimport requests\n\nresponse = ${request}\nprint(response.text)`,
  },
] as const;

/** A request of an operation in the form of HTTP Archive, with example values for all that it requires. */
const sampleRequest = (url: string, method: string, operation: object, document: OpenApiDocument) => {
  const parameters = listIn(operation, 'parameters').map((one) => ({
    name: String(own(one, 'name')),
    source: own(one, 'in'),
    isVisible: own(one, 'required') === true,
    value: String([exampleOf(own(one, 'schema'), document)].flat()[0]),
  }));
  const shown = (source: string) =>
    parameters.flatMap(({ name, value, ...one }) =>
      one.source === source && one.isVisible ? [{ name, value }] : [],
    );
  const content = own(own(operation, 'requestBody'), 'content');
  const [type] = Object.keys(Object(content));
  const body = type === 'application/json' ? exampleOf(own(own(content, type), 'schema'), document) : FILE;
  return {
    method: method.toUpperCase(),
    url: url.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(parameters.find((one) => one.name === name)?.value ?? name),
    ),
    queryString: shown('query'),
    headers: [
      { name: 'Authorization', value: KEY },
      ...(type === undefined ? [] : [{ name: 'Content-Type', value: type }]),
      ...shown('header'),
    ],
    ...(type === undefined
      ? {}
      : { postData: { mimeType: type, text: typeof body === 'string' ? body : JSON.stringify(body) } }),
  };
};

/** A value that fits a schema of the document, which has an example wherever a value is free. An object has its required members. */
const exampleOf = (schema: unknown, document: OpenApiDocument): unknown => {
  const [example] = listIn(schema, 'examples');
  const [word] = listIn(schema, 'enum');
  const given = example ?? own(schema, 'default') ?? own(schema, 'const') ?? word;
  if (given !== undefined) return given;
  const reference = own(schema, '$ref');
  if (typeof reference === 'string') {
    const steps = reference.split('/').slice(1);
    return exampleOf(
      steps.reduce<unknown>((part, name) => own(part, name), document),
      document,
    );
  }
  const branch = listIn(schema, 'anyOf').find((one) => own(one, 'type') !== 'null');
  if (branch !== undefined) return exampleOf(branch, document);
  switch (own(schema, 'type')) {
    case 'object': {
      const members = Object.entries(Object(own(schema, 'properties')));
      const required = listIn(schema, 'required');
      const shown =
        required.length > 0 ? members.filter(([name]) => required.includes(name)) : members.slice(0, 1);
      return Object.fromEntries(shown.map(([name, member]) => [name, exampleOf(member, document)]));
    }
    case 'array':
      return [exampleOf(own(schema, 'items'), document)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return own(schema, 'minimum') ?? 1;
    default:
      return 'example';
  }
};

const listIn = (value: unknown, name: string): readonly unknown[] => {
  const member = own(value, name);
  return Array.isArray(member) ? member : [];
};

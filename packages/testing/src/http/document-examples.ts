import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const DOCUMENT = 'api';

interface Example {
  /** Of its schema in the document, as a JSON pointer. */
  readonly pointer: string;
  readonly value: unknown;
}

/** The examples of all schemas of an OpenAPI 3.1 document, each with the place of its schema. */
const examplesIn = (node: unknown, pointer = ''): Example[] => {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, child]: [string, unknown]) =>
    name === 'examples' && Array.isArray(child)
      ? child.map((value: unknown) => ({ pointer, value }))
      : examplesIn(child, `${pointer}/${escaped(name)}`),
  );
};

/** One sentence for each example that its own schema refuses. */
export const wrongExamples = (document: object): string[] => {
  // It would check each schema once more. Another test checks the document.
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats.default(ajv);
  ajv.addSchema(document, DOCUMENT);
  return examplesIn(document).flatMap(({ pointer, value }) => {
    const validate = ajv.compile({ $ref: `${DOCUMENT}#${encodeURI(pointer)}` });
    return validate(value)
      ? []
      : [`${pointer}: ${JSON.stringify(value)} is no example of it: ${ajv.errorsText(validate.errors)}`];
  });
};

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Schemas as lists of a page. */

/** The keywords of JSON Schema in our schemas. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** The JSON Schema that TypeBox makes of an object; its types do not show it. */
export interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[] | undefined;
}

export const code = (text: unknown): string => `\`${String(text)}\``;

const describe = (schema: Schema): string => {
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (schema.anyOf) return schema.anyOf.map(describe).join(' or ');
  if (schema.type === 'array') return `list of ${schema.items ? describe(schema.items) : 'anything'}`;
  if (schema.patternProperties)
    return `map to ${Object.values(schema.patternProperties).map(describe).join(' or ')}`;
  if (schema.properties) return `{${Object.keys(schema.properties).join(', ')}}`;
  const bounds = [
    schema.exclusiveMinimum === undefined ? '' : `> ${schema.exclusiveMinimum}`,
    schema.minimum === undefined ? '' : `>= ${schema.minimum}`,
    schema.maximum === undefined ? '' : `<= ${schema.maximum}`,
  ].filter((bound) => bound !== '');
  return [schema.format ?? schema.type ?? 'JSON', ...bounds].join(' ');
};

/** A line for each member, under the heading. */
export const memberList = (heading: string, schema: ObjectSchema): string[] => [
  `${heading}:`,
  '',
  ...Object.entries(schema.properties).map(
    ([name, member]) =>
      `- ${code(name)}${schema.required?.includes(name) ? '' : ', optional'}: ${describe(member as Schema)}`,
  ),
];

/** The members of an event's `data`. */
export const dataList = (data: ObjectSchema): string[] =>
  Object.keys(data.properties).length > 0 ? memberList('Members of `data`', data) : ['`data` is empty.'];

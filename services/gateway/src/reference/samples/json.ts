/** A part of the OpenAPI document. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectIn = (value: Json | undefined, name: string): JsonObject => {
  const member = isObject(value) ? value[name] : undefined;
  return isObject(member) ? member : {};
};

export const listIn = (value: Json | undefined, name: string): readonly JsonObject[] => {
  const member = isObject(value) ? value[name] : undefined;
  return Array.isArray(member) ? member.filter(isObject) : [];
};

export const textIn = (value: Json | undefined, name: string): string => {
  const member = isObject(value) ? value[name] : undefined;
  return typeof member === 'string' ? member : '';
};

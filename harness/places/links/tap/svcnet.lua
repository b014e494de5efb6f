-- Shows captures of `svcnet tap --write` in Wireshark and tshark:
--   tshark -X lua_script:svcnet.lua -r out.pcapng
-- Filters: svcnet.protocol == "pushsync" && svcnet.message == "receipt" && svcnet.from == "node-2"

local svcnet = Proto("svcnet", "Messages between storage nodes")

-- In the order in which a packet has them.
local texts = {
  { name = "kind", field = ProtoField.string("svcnet.kind", "Kind") },
  { name = "protocol", field = ProtoField.string("svcnet.protocol", "Protocol") },
  { name = "message", field = ProtoField.string("svcnet.message", "Message") },
  { name = "from", field = ProtoField.string("svcnet.from", "From") },
  { name = "to", field = ProtoField.string("svcnet.to", "To") },
  { name = "stream", field = ProtoField.string("svcnet.stream", "Stream") },
  { name = "id", field = ProtoField.string("svcnet.id", "Protocol id") },
}
local bytes = ProtoField.uint32("svcnet.bytes", "Bytes on the stream")
local fields = ProtoField.string("svcnet.fields", "Fields")
local raw = ProtoField.bytes("svcnet.raw", "As it was sent")

local all = { bytes, fields, raw }
for _, text in ipairs(texts) do
  table.insert(all, text.field)
end
svcnet.fields = all

local json = Dissector.get("json")

function svcnet.dissector(buffer, packet, root)
  local tree = root:add(svcnet, buffer())
  local seen = {}
  local at = 0
  for _, text in ipairs(texts) do
    local length = buffer(at, 2):uint()
    local value = ""
    if length > 0 then
      value = buffer(at + 2, length):string(ENC_UTF_8)
    end
    tree:add(text.field, buffer(at, 2 + length), value)
    seen[text.name] = value
    at = at + 2 + length
  end
  tree:add(bytes, buffer(at, 4))
  at = at + 4
  local length = buffer(at, 4):uint()
  local rest = buffer(at + 4, length)
  local said = rest:string(ENC_UTF_8)
  tree:add(fields, rest, said)
  json:call(rest:tvb(), packet, tree)
  at = at + 4 + length
  if at < buffer:len() then
    tree:add(raw, buffer(at))
  end

  local what = seen.message
  if what == "" then
    what = seen.kind
  end
  packet.cols.src = seen.from
  packet.cols.dst = seen.to
  packet.cols.protocol = seen.protocol
  packet.cols.info = said == "{}" and what or what .. " " .. said
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, svcnet)
